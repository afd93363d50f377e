// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.micronaut.testing.Sources;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.PathVariable;
import io.micronaut.http.annotation.Post;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** How a call ends counts for limits that only the configuration sets on its path, too. */
class ConfiguredRouteEndsTest {

  private static final String SPEC = "ConfiguredRouteEndsTest";

  private static final long PERMIT_MILLIS = 1_200;

  private static final String YAML =
      """
      limiter:
        policies:
          lockout:
            limit-type: IP
            rules: [{count: 2, time: 60s, counts: failures}]
            failed-on: [401]
          busy:
            limit-type: IP
            rules: [{count: 1, time: %sms, algorithm: CONCURRENCY_LIMIT}]
          once:
            limit-type: IP
            duplicate: {enabled: true, by: caller, release-on-failure: true}
          paced:
            limit-type: IP
            rules: [{count: 1, time: 400ms, leaky-bucket: {queue: 2}}]
        routes:
          - {path: "/ends/login/**", policy: lockout}
          - {path: "/ends/busy", policy: busy}
          - {path: "/ends/once/**", policy: once}
          - {path: "/ends/paced", policy: paced}
      """
          .formatted(PERMIT_MILLIS);

  @Controller("/ends")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    final CompletableFuture<String> result = new CompletableFuture<>();

    @Get("/login/{status}")
    HttpResponse<String> login(@PathVariable int status) {
      return HttpResponse.status(HttpStatus.valueOf(status)).body("done");
    }

    @Get("/busy")
    CompletionStage<String> busy() {
      return result;
    }

    @Post("/once/{status}")
    HttpResponse<String> once(@PathVariable int status) {
      if (status == 0) {
        throw new IllegalStateException("broken");
      }
      return HttpResponse.status(HttpStatus.valueOf(status)).body("done");
    }

    @Get("/paced")
    String paced() {
      return "ok";
    }
  }

  @AutoClose private TestServer server;

  @BeforeEach
  void start() {
    Map<String, Object> settings = new HashMap<>(Sources.yaml(YAML));
    server = TestServer.start(SPEC, settings);
  }

  @Test
  void failuresCountByTheStatusOfTheResponse() {
    for (int i = 0; i < 5; i++) {
      assertThat(server.status("/ends/login/200")).isEqualTo(200);
    }
    assertThat(server.status("/ends/login/401")).isEqualTo(401);
    assertThat(server.status("/ends/login/403")).isEqualTo(403);
    assertThat(server.status("/ends/login/401")).isEqualTo(401);

    assertThat(server.status("/ends/login/200")).isEqualTo(429);
  }

  @Test
  void aPermitIsHeldUntilTheResponseHoweverLongThatTakes() throws InterruptedException {
    var running = server.getAsync("/ends/busy");
    await().until(() -> server.status("/ends/busy") == 429);
    for (int i = 0; i < 4; i++) {
      TimeUnit.MILLISECONDS.sleep(PERMIT_MILLIS / 2);
      assertThat(server.status("/ends/busy")).isEqualTo(429);
    }

    server.bean(Routes.class).result.complete("done");

    assertThat(running.join().statusCode()).isEqualTo(200);
    assertThat(server.status("/ends/busy")).isEqualTo(200);
  }

  @Test
  void aSubmissionMayBeRepeatedOnlyIfItFailed() {
    assertThat(once(0)).isEqualTo(500);
    assertThat(once(503)).isEqualTo(503);
    assertThat(once(200)).isEqualTo(200);

    assertThat(once(200)).isEqualTo(409);
  }

  private int once(int status) {
    return server.exchange("POST", "/ends/once/" + status, "").statusCode();
  }

  @Test
  void callsWaitForTheirTurn() {
    long begin = System.nanoTime();
    List<CompletableFuture<java.net.http.HttpResponse<String>>> three =
        List.of(
            server.getAsync("/ends/paced"),
            server.getAsync("/ends/paced"),
            server.getAsync("/ends/paced"));

    assertThat(three).allSatisfy(call -> assertThat(call.join().statusCode()).isEqualTo(200));
    assertThat(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begin)).isGreaterThan(700);
  }
}
