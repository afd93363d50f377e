// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.DecidedBy;
import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest;
import io.limiter.core.Limiter;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.testing.Pauses;
import io.limiter.core.testing.RedisProcess;
import io.limiter.micronaut.testing.HttpService;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

/** A service that limits through a private Redis, from start to end. */
final class Service implements AutoCloseable {

  static final int COUNT = 50;

  /** The product's default. */
  static final Duration DEADLINE = Duration.ofMillis(100);

  /**
   * For a busy machine: no single call may take longer, the usual one not much over the deadline.
   */
  private static final Duration LONGEST = DEADLINE.plusMillis(900);

  private static final Duration USUAL = DEADLINE.plusMillis(100);

  private static final LimitRequest CALL =
      LimitRequest.of(
          Policy.of("faults", SlidingWindowLogRule.of(COUNT, Duration.ofHours(1))),
          new Subject("user", "ada"));

  private final HttpService server;
  private final Limiter limiter;

  private Service(HttpService server) {
    this.server = server;
    this.limiter = server.bean(Limiter.class);
  }

  static Service start(RedisProcess redis, Object... properties) {
    Map<String, Object> all = HttpService.settings("redis.uri", redis.uri());
    all.putAll(HttpService.settings(properties));
    return start(all);
  }

  static Service start(Map<String, Object> properties) {
    Pauses.watch();
    Map<String, Object> all =
        HttpService.settings(
            "limiter.redis.key-prefix",
            "t" + UUID.randomUUID().toString().substring(0, 8) + ":",
            // So that each event loop is connected, on a busy machine too.
            "limiter.redis.start-timeout",
            "10s");
    all.putAll(properties);
    return new Service(HttpService.start("Service", all));
  }

  Verdict call() {
    return calling().join();
  }

  CompletableFuture<Verdict> calling() {
    return limiter.acquire(CALL).toCompletableFuture();
  }

  <T> T bean(Class<T> type) {
    return server.bean(type);
  }

  /** Calls in turn, each of which memory has to decide, in time and for one of these reasons. */
  void fallsBack(int calls, FailureReason... reasons) {
    List<Duration> times = new ArrayList<>();
    for (int i = 0; i < calls; i++) {
      long before = System.nanoTime();
      Verdict verdict = call();
      times.add(Pauses.without(before, System.nanoTime()));
      assertThat(verdict.decidedBy()).isEqualTo(DecidedBy.FALLBACK);
      assertThat(verdict.reason().orElseThrow()).isIn((Object[]) reasons);
    }
    Collections.sort(times);
    assertThat(times.get(calls - 1)).isLessThan(LONGEST);
    assertThat(times.get(calls / 2)).isLessThan(USUAL);
  }

  /** The units that the asked store has counted. */
  long used() {
    return COUNT - peek().rules().get(0).remaining();
  }

  boolean decidesInRedis() {
    return peek().decidedBy() == DecidedBy.STORE;
  }

  private Verdict peek() {
    return limiter.peek(CALL).toCompletableFuture().join();
  }

  /** Calls at the same time. */
  List<Verdict> callTogether(int calls) {
    List<CompletableFuture<Verdict>> all = Stream.generate(this::calling).limit(calls).toList();
    return all.stream().map(CompletableFuture::join).toList();
  }

  @Override
  public void close() {
    server.close();
  }
}
