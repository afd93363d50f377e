// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static java.util.concurrent.TimeUnit.MICROSECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.lease.LeaseStore;
import io.limiter.core.lease.LeaseUnits;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowLogRule;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;

/** A store under test, its clock, and helpers for calls. Every test has a new store. */
public interface StoreHarness {

  Duration TICK = Duration.ofNanos(1_000);
  Duration SECOND = Duration.ofSeconds(1);
  Duration MINUTE = Duration.ofMinutes(1);
  Duration HOUR = Duration.ofHours(1);

  LimitStore store();

  /** Moves the store's clock, backwards too. */
  void advance(Duration duration);

  /** The store's clock. */
  Instant now();

  /** Sets the store's clock. */
  default void at(Instant time) {
    advance(Duration.between(now(), time));
  }

  default void at(String time) {
    at(Instant.parse(time));
  }

  /**
   * Everything that the store holds under a key, without its time to live; empty if there is no
   * key.
   */
  Optional<String> stored(StateKey key);

  default Verdict decide(LimitRequest request, Mode mode) {
    return store().decide(request, mode).toCompletableFuture().join();
  }

  default Verdict acquire(LimitRequest request) {
    return decide(request, Mode.ACQUIRE);
  }

  default Verdict peek(LimitRequest request) {
    return decide(request, Mode.PEEK);
  }

  default Verdict record(LimitRequest request) {
    return decide(request, Mode.RECORD);
  }

  default void acquire(int times, LimitRequest request) {
    for (int i = 0; i < times; i++) {
      assertThat(acquire(request).allowed()).as("call %d of %d", i + 1, times).isTrue();
    }
  }

  default long refund(Verdict verdict) {
    return verdict.reservation().refund().toCompletableFuture().join();
  }

  default long release(Verdict verdict) {
    return verdict.reservation().release().toCompletableFuture().join();
  }

  default long settle(Verdict verdict, Completion completion) {
    return verdict.reservation().settle(completion).toCompletableFuture().join();
  }

  default long renew(Verdict verdict) {
    return verdict.reservation().renewPermits().toCompletableFuture().join();
  }

  /** So many calls at once, none of which waits for another. */
  default List<Verdict> together(int calls, LimitRequest request) {
    return IntStream.range(0, calls)
        .parallel()
        .mapToObj(i -> store().decide(request, Mode.ACQUIRE).toCompletableFuture())
        .toList()
        .stream()
        .map(CompletableFuture::join)
        .toList();
  }

  default List<Optional<String>> stored(LimitRequest request) {
    return request.allCharges().stream().map(charge -> stored(charge.key())).toList();
  }

  /** Denied now and one microsecond before the retry-after, admitted on time. */
  default void assertRetryAfterIsExact(LimitRequest call, Duration expected) {
    assertThat(acquire(call).retryAfter()).contains(expected);
    advance(expected.minus(TICK));
    assertThat(acquire(call).retryAfter()).contains(TICK);
    advance(TICK);
    assertAllowed(call);
  }

  default void assertAllowed(LimitRequest request) {
    assertThat(acquire(request).outcome()).isEqualTo(Outcome.ALLOWED);
  }

  default void assertLimited(LimitRequest request) {
    assertThat(acquire(request).outcome()).isEqualTo(Outcome.LIMITED);
  }

  /** The remaining units of the only rule; by peeking. */
  default long remaining(LimitRequest request) {
    return peek(request).rules().get(0).remaining();
  }

  static Rule rule(long count, Duration window) {
    return SlidingWindowLogRule.of(count, window);
  }

  /** The microseconds since another time. */
  static long micros(Instant from, Instant to) {
    return MICROSECONDS.convert(Duration.between(from, to));
  }

  /** A call under a policy of these rules. */
  static LimitRequest call(Rule... rules) {
    return call("somebody", rules);
  }

  static LimitRequest call(String who, Rule... rules) {
    return LimitRequest.of(Policy.of("policy", rules), new Subject("user", who));
  }

  /** A submission that may be made once in a minute, under a policy of these rules. */
  static LimitRequest submit(String submission, Rule... rules) {
    Policy policy = Policy.of("policy", rules).withDuplicates(rule(1, MINUTE));
    return LimitRequest.of(policy, new Subject("user", "somebody"), Optional.of(submission));
  }

  /** The units of leases under all limit keys. */
  public static LeaseUnits units(LeaseStore leases) {
    return leases.units().values().stream().reduce(new LeaseUnits(0, 0, 0, 0), LeaseUnits::plus);
  }
}
