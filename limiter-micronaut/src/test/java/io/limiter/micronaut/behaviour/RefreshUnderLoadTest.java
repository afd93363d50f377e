// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.env.PropertySource;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.runtime.context.scope.refresh.RefreshEvent;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Two instances on one Redis, under load, whose numbers are changed ten times a second, at
 * different times. At each moment one of two numbers holds, so no window has more than the larger
 * one.
 */
@Tag("matrix")
class RefreshUnderLoadTest {

  private static final String SPEC = "RefreshUnderLoadTest";
  private static final long SECONDS = Long.getLong("limiter.soak", 6);

  /** How much later than its window begins a call may be counted, in nanoseconds. */
  private static final long WINDOW_NANOS = TimeUnit.SECONDS.toNanos(1);

  @Controller("/loaded")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {
    @Get
    @RateLimiter(value = "loaded", rules = @RateRule(name = "only", count = 20, time = 1))
    String call() {
      return "ok";
    }
  }

  private record Call(long sentNanos, long answeredNanos) {}

  /** Rules of two windows have a value each, so both together admit at most what both would. */
  @ParameterizedTest
  @CsvSource({"1s, 20", "2s, 40"})
  void noWindowHasMoreThanTheLargerNumberOfEachShape(String time, int atMost) throws Exception {
    Map<String, Object> first = new ConcurrentHashMap<>();
    Map<String, Object> second = new ConcurrentHashMap<>();
    try (TestServer one = TestServer.start(SPEC);
        TestServer other =
            TestServer.start(SPEC, Map.of("limiter.redis.key-prefix", one.keys().prefix()))) {
      follow(one, first);
      follow(other, second);
      ConcurrentLinkedQueue<Call> admitted = new ConcurrentLinkedQueue<>();
      ConcurrentLinkedQueue<Integer> others = new ConcurrentLinkedQueue<>();
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
      List<CompletableFuture<Void>> clients = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        TestServer server = i % 2 == 0 ? one : other;
        clients.add(
            CompletableFuture.runAsync(
                () -> {
                  while (System.nanoTime() < end) {
                    long sent = System.nanoTime();
                    int status = server.status("/loaded");
                    if (status == 200) {
                      admitted.add(new Call(sent, System.nanoTime()));
                    } else if (status != 429) {
                      others.add(status);
                    }
                  }
                }));
      }
      for (int i = 0; System.nanoTime() < end; i++) {
        change(i % 2 == 0 ? one : other, i % 2 == 0 ? first : second, i, time);
        TimeUnit.MILLISECONDS.sleep(50);
      }
      for (CompletableFuture<Void> client : clients) {
        client.get();
      }
      assertThat(others).isEmpty();
      assertThat(admitted.size()).isGreaterThan(20);
      assertThat(most(List.copyOf(admitted))).isLessThanOrEqualTo(atMost);
    }
  }

  /** Counts of 5 to 20 in a second, and one invalid count, which changes nothing. */
  private static void change(
      TestServer server, Map<String, Object> settings, int turn, String time) {
    int count = new int[] {20, 10, 5, 0, 15}[turn / 2 % 5];
    settings.put("limiter.policies.loaded.rules.only.count", count);
    settings.put("limiter.policies.loaded.rules.only.time", turn % 3 == 0 ? time : "1s");
    server.context().getEventPublisher(RefreshEvent.class).publishEvent(new RefreshEvent());
  }

  private static void follow(TestServer server, Map<String, Object> settings) {
    server
        .context()
        .getEnvironment()
        .addPropertySource(PropertySource.of("changing", settings, 1_000));
  }

  /** The most calls that were surely decided within one window: sent and answered within it. */
  private static int most(List<Call> calls) {
    int most = 0;
    for (Call begin : calls) {
      int within = 0;
      for (Call call : calls) {
        if (call.sentNanos() - begin.sentNanos() >= 0
            && call.answeredNanos() - begin.sentNanos() < WINDOW_NANOS) {
          within++;
        }
      }
      most = Math.max(most, within);
    }
    return most;
  }
}
