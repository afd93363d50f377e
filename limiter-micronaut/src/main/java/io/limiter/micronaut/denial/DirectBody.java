// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.micronaut.core.annotation.Internal;
import io.micronaut.http.MediaType;
import io.micronaut.http.MutableHttpResponse;
import java.util.Optional;

/** A body of the limiter, which can be written without the application's JSON mapper. */
@Internal
public interface DirectBody extends DenialBody {

  /**
   * By which a denial is written for a program; empty if the body is an object, which the
   * application's JSON mapper encodes.
   */
  Optional<JsonTemplate> template(Denial denial);

  /**
   * Sets a body and a content type on the response to a request that is rejected without a verdict.
   */
  MutableHttpResponse<?> reject(Rejection.Plain rejection, MutableHttpResponse<?> response);

  /** The content type of these templates. */
  MediaType type();

  /** Looks up the beans that it needs, unless it has: a context that is closed has none. */
  void lookUp();
}
