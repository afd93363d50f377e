// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.store.LimitStore;
import io.limiter.core.testing.RedisProcess;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.event.BeanCreatedEvent;
import io.micronaut.context.event.BeanCreatedEventListener;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A service shuts down under load: every pending decision is made, and nothing is noisy. */
@Tag("matrix")
class ShutdownUnderLoadTest {

  private static final String SPEC = "ShutdownUnderLoadTest";
  private static final int CALLERS = 12;

  /** What is promised, and what a machine is excused that also runs other builds. */
  private static final Duration DECIDED = Duration.ofMillis(3 * 150);

  private static final Duration ENDED = Duration.ofSeconds(2);

  @AutoClose private final RedisProcess redis = RedisProcess.onFreePort().start();

  @ParameterizedTest
  @CsvSource({
    "graceful,event-loop,answers",
    "graceful,event-loop,silent",
    "graceful,shared,silent",
    "abrupt,event-loop,answers",
    "abrupt,event-loop,silent",
    "abrupt,shared,silent"
  })
  void whatIsUnderWayIsDecided(String way, String connections, String redis) throws Exception {
    end(2, way.equals("graceful"), connections, redis.equals("answers"));
  }

  @Tag("faults")
  @ParameterizedTest
  @CsvSource({
    "graceful,event-loop,answers",
    "graceful,event-loop,silent",
    "graceful,shared,answers",
    "graceful,shared,silent",
    "abrupt,event-loop,answers",
    "abrupt,event-loop,silent",
    "abrupt,shared,answers",
    "abrupt,shared,silent"
  })
  void whatIsUnderWayIsDecidedEachTime(String way, String connections, String redis)
      throws Exception {
    end(20, way.equals("graceful"), connections, redis.equals("answers"));
  }

  private void end(int times, boolean graceful, String connections, boolean answers)
      throws Exception {
    for (int i = 0; i < times; i++) {
      redis.resume();
      try (LoggedWarnings warnings = LoggedWarnings.begin()) {
        end(graceful, connections, answers);
        assertThat(graceful ? warnings.excess() : warnings.excessOfOurs()).isEmpty();
      }
    }
  }

  private void end(boolean graceful, String connections, boolean answers) throws Exception {
    TestServer server = start(graceful, connections);
    WatchedStore.Notes decisions = server.bean(Watch.class).notes;
    try (RawCallers callers =
        RawCallers.call(server.port(), CALLERS, "/ending", "/ending/by-argument?who=a")) {
      await().until(() -> callers.answers(200) > 20 * CALLERS);
      if (!answers) {
        redis.suspend();
        await().pollInterval(Duration.ofMillis(2)).until(() -> decisions.pending() > 0);
      }

      long before = System.nanoTime();
      server.close();
      Duration took = Duration.ofNanos(System.nanoTime() - before);

      callers.awaitEnd();
      if (graceful) { // else Micronaut itself has no body for some
        assertThat(callers.statuses()).isSubsetOf(200, 429);
      }
      await().atMost(Duration.ofSeconds(5)).until(() -> decisions.pending() == 0);
      assertThat(decisions.failures()).isEmpty();
      assertThat(decisions.slowestSince(before)).isLessThan(DECIDED);
      assertThat(took).isLessThan(ENDED);
    }
  }

  private TestServer start(boolean graceful, String connections) {
    return TestServer.start(
        SPEC,
        Map.of(
            "redis.uri",
            redis.uri(),
            "limiter.redis.deadline",
            "100ms",
            "limiter.redis.connections",
            connections,
            "micronaut.netty.event-loops.default.num-threads",
            2));
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Watch implements BeanCreatedEventListener<LimitStore> {

    final WatchedStore.Notes notes = new WatchedStore.Notes();

    @Override
    public LimitStore onCreated(BeanCreatedEvent<LimitStore> event) {
      return new WatchedStore(event.getBean(), notes);
    }
  }

  @Controller("/ending")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    @Get
    @RateRule(count = 10_000)
    String get() {
      return "ok";
    }

    @Get("/by-argument")
    @RateLimiter(subject = "#{who}", rules = @RateRule(count = 10_000))
    String byArgument(@QueryValue String who) {
      return "ok";
    }
  }
}
