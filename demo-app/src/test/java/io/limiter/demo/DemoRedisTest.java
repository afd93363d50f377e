// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.limiter.core.outage.FallbackCounts;
import io.limiter.demo.Demo.Timed;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpRequestWrapper;
import io.micronaut.http.exceptions.HttpStatusException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What docs/demo.md says is seen while Redis comes and goes. */
class DemoRedisTest {

  /** For a busy machine: what is promised is the deadline of 100 ms, or nearly nothing, and 2 s. */
  private static final int NOISE = 20;

  private static final Duration WAITED = Duration.ofMillis(100);
  private static final Duration AT_ONCE = Duration.ofMillis(50);
  private static final Duration HEALED = Duration.ofSeconds(2).multipliedBy(NOISE);

  private final EmbeddedRedis redis = EmbeddedRedis.down();

  @AfterEach
  void end() {
    redis.kill();
  }

  @Test
  void itFallsSilentAndGoesOn() {
    redis.start();
    try (Demo demo = Demo.with(redis)) {
      awaitStore(demo);
      assertThat(run(demo, "stop")).contains("\"redis\":\"silent\"");

      List<Timed> answers = many(demo);
      assertThat(answers.subList(0, 5))
          .allSatisfy(
              answer -> {
                assertThat(answer.status()).isEqualTo(200);
                assertThat(answer.field("X-Decided-By")).isEqualTo("FALLBACK (TIMEOUT)");
                assertThat(answer.took())
                    .isBetween(WAITED, WAITED.plus(AT_ONCE.multipliedBy(NOISE)));
              });
      assertThat(answers.subList(5, 12))
          .allSatisfy(
              answer -> {
                assertThat(answer.field("X-Decided-By")).isEqualTo("FALLBACK (BREAKER_OPEN)");
                assertThat(answer.took()).isLessThan(AT_ONCE.multipliedBy(NOISE));
              });
      assertTenPass(answers);
      assertRefusedWithoutCount(demo.timed("POST", "/sms/code?phone=555-1234"));
      assertThat(demo.get("/redis").body()).contains("\"TIMEOUT\":5");

      assertThat(run(demo, "continue")).contains("\"redis\":\"running\"");
      awaitStore(demo);
      assertThat(demo.timed("POST", "/sms/code?phone=555-1234").status()).isEqualTo(200);
    }
  }

  @Test
  void itIsKilledAndComesBackEmpty() {
    redis.start();
    try (Demo demo = Demo.with(redis)) {
      awaitStore(demo);
      for (int left = 9; left >= 0; left--) { // a denial would be known for a second
        assertThat(demo.timed("GET", "/articles").field("RateLimit"))
            .startsWith("\"10-per-60s\";r=" + left + ";");
      }
      assertThat(run(demo, "kill")).contains("\"redis\":\"down\"");

      List<Timed> answers = many(demo);
      assertThat(answers.get(0).field("X-Decided-By")).isEqualTo("FALLBACK (DISCONNECTED)");
      assertNoCallWaited(answers);
      assertThat(answers)
          .as("memory goes on from what Redis has counted")
          .allSatisfy(answer -> assertThat(answer.status()).isEqualTo(429));

      assertThat(run(demo, "start")).contains("\"redis\":\"running\"");
      awaitStore(demo);
      assertThat(demo.timed("GET", "/articles").status()).isEqualTo(200);
    }
  }

  @Test
  void itIsDownAtTheStart() {
    try (Demo demo = Demo.with(redis)) {
      List<Timed> answers = many(demo);
      assertNoCallWaited(answers);
      assertTenPass(answers);
      assertRefusedWithoutCount(demo.timed("POST", "/sms/code?phone=555-1234"));
      assertThat(demo.get("/redis").body()).contains("\"redis\":\"down\"", "\"DISCONNECTED\":");

      run(demo, "start");
      awaitStore(demo);
      Timed first = demo.timed("GET", "/articles");
      assertThat(first.status()).as("Redis hears of the ten by memory").isEqualTo(429);
      assertThat(first.field("X-Decided-By")).isEqualTo("STORE");
    }
  }

  @Test
  void onlyThisMachineMayDoThat() {
    redis.start();
    RedisController controller = new RedisController(redis, new FallbackCounts());
    HttpRequest<Object> fromElsewhere =
        new HttpRequestWrapper<>(HttpRequest.POST("/redis/kill", "")) {
          @Override
          public InetSocketAddress getRemoteAddress() {
            return new InetSocketAddress("192.0.2.1", 54321);
          }
        };

    assertThatThrownBy(() -> controller.run(fromElsewhere, "kill"))
        .isInstanceOf(HttpStatusException.class)
        .hasMessage("Only from the demo's own machine");
    assertThat(redis.state()).isEqualTo("running");
  }

  @Test
  void aRedisThatIsNotTheDemosOwnIsLeftAlone() {
    try (Demo demo = Demo.start()) {
      assertThat(demo.timed("POST", "/redis/kill").status()).isEqualTo(404);
      assertThat(demo.get("/redis").statusCode()).isEqualTo(404);
    }
  }

  @Test
  void anotherWishThanDownIsAMistake() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> DemoApplication.ownRedis(Optional.of("off")))
        .withMessage("DEMO_REDIS = off: set it to down to start without Redis, or leave it out");
    assertThat(DemoApplication.ownRedis(Optional.of("down")).orElseThrow().state())
        .isEqualTo("down");
  }

  private static String run(Demo demo, String command) {
    return demo.post("/redis/" + command, "").body();
  }

  private static List<Timed> many(Demo demo) {
    return IntStream.range(0, 12).mapToObj(i -> demo.timed("GET", "/articles")).toList();
  }

  /** Asked by a route that the tests do not count. */
  private static void awaitStore(Demo demo) {
    await()
        .atMost(HEALED)
        .until(() -> demo.timed("GET", "/partners").field("X-Decided-By").equals("STORE"));
  }

  private static void assertTenPass(List<Timed> answers) {
    assertThat(answers.subList(0, 10)).extracting(Timed::status).containsOnly(200);
    assertThat(answers.subList(10, 12)).extracting(Timed::status).containsOnly(429);
    assertThat(answers)
        .allSatisfy(answer -> assertThat(answer.field("X-Decided-By")).startsWith("FALLBACK ("));
  }

  private static void assertNoCallWaited(List<Timed> answers) {
    assertThat(answers)
        .allSatisfy(answer -> assertThat(answer.took()).isLessThan(AT_ONCE.multipliedBy(NOISE)));
  }

  private static void assertRefusedWithoutCount(Timed answer) {
    assertThat(answer.status()).isEqualTo(503);
    assertThat(answer.field("Retry-After")).isIn("1", "2");
    assertThat(answer.field("X-Decided-By")).startsWith("FALLBACK (");
  }
}
