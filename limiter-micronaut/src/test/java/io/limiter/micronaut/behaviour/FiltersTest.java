// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpResponse;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** The limiter among an application's own filters, some of which run before the route is known. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class FiltersTest {

  private TestServer server;

  @BeforeAll
  void start() {
    server = TestServer.start(FilterRoutes.SPEC);
  }

  @AfterAll
  void stop() {
    server.close();
  }

  @BeforeEach
  void forget() {
    server.clear();
  }

  @Test
  void unlimitedAndUnknownRoutesStayAsTheyAre() {
    assertThat(server.get("/filtered/unlimited").statusCode()).isEqualTo(200);
    assertThat(server.get("/filtered/unknown").statusCode()).isEqualTo(404);
    assertThat(server.exchange("DELETE", "/filtered/by-request", "").statusCode()).isEqualTo(405);
    assertThat(server.keys().all()).isEmpty();
  }

  @Test
  void theGateDecidesOnlyWhatTheRequestDecides() {
    for (String who : new String[] {"a", "b", "c"}) {
      String path = "/filtered/by-argument?who=" + who;
      assertThat(field(server.get(path), "RateLimit")).startsWith("\"2-per-60s\";r=1;");
      assertThat(field(server.get(path), "RateLimit")).startsWith("\"2-per-60s\";r=0;");
      assertThat(server.get(path).statusCode()).isEqualTo(429);
    }
    assertThat(server.keys().all()).hasSize(3);
  }

  @Test
  void aRouteIsCountedOnceForARequest() {
    assertThat(field(server.get("/filtered/by-request"), "RateLimit"))
        .startsWith("\"2-per-60s\";r=1;");
    assertThat(server.get("/filtered/by-request").statusCode()).isEqualTo(200);
    assertThat(server.get("/filtered/by-request").statusCode()).isEqualTo(429);
  }

  @Test
  void aSubmissionThatALaterFilterAnswersIsCountedButNotAccepted() {
    HttpResponse<String> answered =
        server.exchange("POST", "/filtered/submission", "", FilterRoutes.REJECT, "yes");
    assertThat(answered.statusCode()).isEqualTo(401);
    assertThat(field(answered, "RateLimit")).startsWith("\"5-per-60s\";r=4;");

    HttpResponse<String> accepted = server.exchange("POST", "/filtered/submission", "");
    assertThat(accepted.statusCode()).isEqualTo(200);
    assertThat(field(accepted, "RateLimit")).startsWith("\"5-per-60s\";r=3;");
    assertThat(server.exchange("POST", "/filtered/submission", "").statusCode()).isEqualTo(409);
  }
}
