// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.limiter.core.testing.RedisFixture;
import io.limiter.micronaut.annotation.Ban;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Error;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.http.annotation.Status;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A flood of calls that are denied does not reach Redis. */
@Tag("matrix")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class DenyCacheTest {

  private static final String SPEC = "DenyCache";
  private static final Pattern SCRIPTS = Pattern.compile("cmdstat_evalsha:calls=(\\d+),");
  private static final int AT_ONCE = 16;

  @Controller("/flood")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    @Get("/route")
    @RateRule(count = 1, time = 3_600)
    @RateRule(count = 1_000, time = 36_000)
    String route() {
      return "ok";
    }

    @Get("/argument")
    @RateLimiter(subject = "#{who}", rules = @RateRule(count = 1, time = 3_600))
    CompletableFuture<String> argument(@QueryValue String who) {
      return CompletableFuture.completedFuture(who);
    }

    @Get("/left-out")
    @RateLimiter(value = "left-out", rules = @RateRule(count = 1, time = 3_600))
    String leftOut() {
      return "ok";
    }

    @Get("/banned")
    @RateLimiter(rules = @RateRule(count = 1), ban = @Ban(violations = 3, time = 3_600))
    String banned() {
      return "ok";
    }
  }

  @Controller("/answered")
  @Requires(property = "spec.name", value = SPEC)
  static class AnswersItself {

    @Get
    @RateRule(count = 1, time = 3_600)
    String route() {
      return "ok";
    }

    @Error(LimitDeniedException.class)
    @Status(HttpStatus.I_AM_A_TEAPOT)
    String denied(LimitDeniedException denied) {
      return "denied by " + denied.verdict().decidedBy();
    }
  }

  private final RedisClient client = RedisClient.create(RedisFixture.uri());
  private final StatefulRedisConnection<String, String> connection = client.connect();
  private TestServer server;

  @BeforeAll
  void start() {
    server =
        TestServer.start(
            SPEC,
            Map.of(
                "limiter.deny-cache.enabled", true,
                "limiter.policies.left-out.deny-cache", false));
  }

  @AfterAll
  void stop() {
    server.close();
    connection.close();
    client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
  }

  private long scripts() {
    Matcher calls = SCRIPTS.matcher(connection.sync().info("commandstats"));
    return calls.find() ? Long.parseLong(calls.group(1)) : 0;
  }

  private void flood(String path, Duration time, List<HttpResponse<String>> answers) {
    long end = System.nanoTime() + time.toNanos();
    while (System.nanoTime() < end) {
      List<CompletableFuture<HttpResponse<String>>> calls = new ArrayList<>();
      for (int i = 0; i < AT_ONCE; i++) {
        calls.add(server.getAsync(path));
      }
      calls.forEach(call -> answers.add(call.join()));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"/flood/route", "/flood/argument?who=me", "/answered"})
  void aFloodOfThreeSecondsRunsAScriptInASecond(String path) {
    server.clear();
    server.get(path);
    HttpResponse<String> first = server.get(path);
    long before = scripts();
    List<HttpResponse<String>> answers = new ArrayList<>();

    flood(path, Duration.ofSeconds(3), answers);

    assertThat(scripts() - before).isBetween(2L, 4L);
    assertThat(answers).hasSizeGreaterThan(AT_ONCE);
    for (HttpResponse<String> answer : answers) {
      assertThat(answer.statusCode()).isEqualTo(first.statusCode());
      assertThat(field(answer, "RateLimit-Policy")).isEqualTo(field(first, "RateLimit-Policy"));
      assertThat(field(answer, "RateLimit")).containsPattern(";r=0;t=3(600|59\\d)");
      assertThat(field(answer, "Retry-After")).matches("3(600|59\\d)");
      assertThat(field(answer, "Cache-Control")).isEqualTo("no-store");
      assertThat(answer.body()).isNotBlank();
    }
  }

  @Test
  void anErrorMethodReceivesTheSourceOfTheDenial() {
    server.clear();
    server.get("/answered");

    assertThat(server.get("/answered").body()).isEqualTo("denied by STORE");
    HttpResponse<String> remembered = server.get("/answered");
    assertThat(remembered.body()).isEqualTo("denied by DENY_CACHE");
    assertThat(remembered.statusCode()).isEqualTo(418);
  }

  @Test
  void aPolicyThatIsLeftOutAsksRedisEachTime() {
    server.clear();
    server.get("/flood/left-out");
    long before = scripts();

    for (int i = 0; i < 20; i++) {
      assertThat(server.get("/flood/left-out").statusCode()).isEqualTo(429);
    }

    assertThat(scripts() - before).isEqualTo(20);
  }

  @Test
  void violationsCountUntilTheBanAndNoneIsAskedForAfterIt() {
    server.clear();
    long before = scripts();

    for (int i = 0; i < 20; i++) {
      server.get("/flood/banned");
    }

    assertThat(scripts() - before).as("admitted, then three violations").isBetween(4L, 5L);
    assertThat(server.get("/flood/banned").body()).contains("banned");
  }

  @Test
  void whoseKeysAreGoneIsAdmittedWithinASecond() {
    server.clear();
    server.get("/flood/route");
    assertThat(server.get("/flood/route").statusCode()).isEqualTo(429);

    server.keys().clear(); // by another instance, or by hand

    await()
        .atMost(Duration.ofSeconds(2)) // the machine may be busy
        .untilAsserted(() -> assertThat(server.get("/flood/route").statusCode()).isEqualTo(200));
  }
}
