// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.testing.HttpService;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The gate decides by the header of a request, before the body is there. */
class UploadsTest {

  private static final String HEAD =
      "POST "
          + HttpService.path("/bypass/upload")
          + " HTTP/1.1\nHost: localhost\nContent-Type: application/json\n";

  @Test
  void aDeniedRequestIsAnsweredBeforeItsBodyIsThere() {
    try (TestServer server =
        TestServer.start(
            BypassRoutes.SPEC, Map.of("micronaut.server.max-request-size", 2_000_000_000))) {
      for (int call = 0; call < 3; call++) {
        assertThat(server.post("/bypass/upload", "\"x\"").statusCode()).isEqualTo(200);
      }

      String[] bodiesThatNeverCome = {
        "Content-Length: 1000000000\n\n",
        "Content-Length: 1000000000\n\n\"begun",
        "Transfer-Encoding: chunked\n\n",
        "Transfer-Encoding: chunked\n\n4\nabcd\n",
        "Expect: 100-continue\nContent-Length: 1000000000\n\n",
        "Expect: 100-continue\nTransfer-Encoding: chunked\n\n"
      };
      for (String body : bodiesThatNeverCome) {
        assertThat(RawCall.send(server.port(), HEAD + body).status()).as(body).isEqualTo(429);
      }
      assertThat(server.bean(BypassRoutes.class).entered).hasValue(3);
    }
  }
}
