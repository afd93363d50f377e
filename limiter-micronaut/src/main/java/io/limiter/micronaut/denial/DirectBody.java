// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.limiter.core.Outcome;
import io.micronaut.core.annotation.Internal;
import io.micronaut.http.MediaType;
import io.micronaut.http.MutableHttpResponse;
import java.util.List;

/** A body of the limiter, which can be written without the application's JSON mapper. */
@Internal
public interface DirectBody extends DenialBody {

  /**
   * The layouts of the body for programs, one of which the JSON mapper uses, unless the application
   * has configured it. Empty if the application makes the body.
   */
  List<JsonTemplate> layouts(Outcome outcome);

  /**
   * Sets a body and a content type on the response to a request that is rejected without a verdict.
   */
  MutableHttpResponse<?> reject(Rejection.Plain rejection, MutableHttpResponse<?> response);

  /** The content type of these layouts. */
  MediaType type();
}
