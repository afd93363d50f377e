// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Error;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** A method that answers an error cannot be limited. */
class ErrorRoutesTest {

  @Test
  void aLimitOnAnErrorRouteStopsTheStart() {
    assertThat(Starts.mistake(Map.of("spec.name", "ErrorRoutesTest")))
        .hasMessage(
            Limited.class.getName()
                + ".answer(java.lang.IllegalStateException): @Error = a limited method: error routes cannot be limited: remove the limit");
  }

  @Controller
  @Requires(property = "spec.name", value = "ErrorRoutesTest")
  static class Limited {
    @Error(exception = IllegalStateException.class)
    @RateRule
    HttpResponse<String> answer(IllegalStateException error) {
      return HttpResponse.serverError("failed");
    }
  }
}
