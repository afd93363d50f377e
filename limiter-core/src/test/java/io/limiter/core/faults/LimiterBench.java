// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.outage.FallbackStore;
import io.limiter.core.redis.AuditedStore;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.rule.SlidingWindowLogRule;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * A limiter as an application uses it, on a Redis whose calls are audited, and the assertions at
 * the end of each fault test. Subclasses choose the Redis.
 */
public abstract class LimiterBench implements AutoCloseable {

  /**
   * Time bounds are multiplied by this. The promise is the deadline and 50 ms; a machine whose two
   * cores run a load, a Redis, a proxy and another build is slower than that now and then, even
   * where its pauses are not counted. Medians are not excused.
   */
  public static final int NOISE = 3;

  public static final Duration DEADLINE = Duration.ofMillis(100);

  /** For tests in which Redis decides: the default could end a call on a busy machine. */
  public static final Duration PATIENT = Duration.ofSeconds(1);

  /** Every call is answered within this time, whatever the store does. */
  public static final Duration ANSWERED = DEADLINE.plusMillis(50);

  /** Once Redis is back, it decides again within this time. */
  public static final Duration HEALED = Duration.ofSeconds(2);

  /**
   * The number of attempts to connect within two seconds that is too many. The first ones follow
   * each other quickly, so that a short loss is repaired quickly; from then on there are two a
   * second.
   */
  static final int MANY_ATTEMPTS = 20;

  /** The threads of Lettuce's two pools, which start one by one as connections are reopened. */
  static final int LETTUCE_THREADS = 2 * Math.max(2, Runtime.getRuntime().availableProcessors());

  static final Duration HOUR = Duration.ofHours(1);

  final AuditedStore store;
  final LimitStore limiter;

  LimiterBench(AuditedStore store) {
    this.store = store;
    this.limiter = new FallbackStore(store, new MemoryStore());
  }

  void awaitWarm() {
    LimitRequest call = call("warm-up", 1_000_000, HOUR);
    await().until(() -> ask(call).decidedBy() == DecidedBy.STORE);
  }

  static LimitRequest call(String subject, long count, Duration window) {
    return LimitRequest.of(
        Policy.of("calls", SlidingWindowLogRule.of(count, window)), new Subject("user", subject));
  }

  /** A call that leases may decide. */
  static LimitRequest leased(Rule rule, Duration lease) {
    Policy policy = Policy.of("leased", rule);
    RuleStack stack = RuleStack.of(policy.rules()).withLease(lease);
    return LimitRequest.of(policy.withStacks(List.of(stack)), Subject.global());
  }

  /** Calls of so many subjects. */
  static List<LimitRequest> calls(int subjects, long count, Duration window) {
    return IntStream.range(0, subjects).mapToObj(i -> call("user-" + i, count, window)).toList();
  }

  Verdict ask(LimitRequest call) {
    return limiter.decide(call, Mode.ACQUIRE).toCompletableFuture().join();
  }

  Verdict look(LimitRequest call) {
    return limiter.decide(call, Mode.PEEK).toCompletableFuture().join();
  }

  /** Units taken under the key of this call, according to Redis. */
  long used(LimitRequest call) {
    Verdict verdict = store.decide(call, Mode.PEEK).toCompletableFuture().join();
    return verdict.rules().get(0).rule().count() - verdict.rules().get(0).remaining();
  }

  /** The nonces of what ran, in that order. */
  abstract List<String> executed();

  /** Lets time pass while a fault lasts: the test is about the stall. */
  public static void pass(Duration time) {
    try {
      TimeUnit.NANOSECONDS.sleep(time.toNanos());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Nothing ran twice, confirmed calls ran, and the outcome of other calls that ran is unknown. */
  void assertRanAtMostOnce() {
    assertNothingRanTwice();
    assertThat(executed()).as("what was confirmed ran").containsAll(nonces(true));
  }

  /** The same where Redis may have lost confirmed writes. */
  void assertNothingRanTwice() {
    List<String> executed = executed();
    assertThat(OverAdmissionChecker.repeated(executed)).isEmpty();
    Set<String> unheard = new HashSet<>(executed);
    unheard.removeAll(nonces(true));
    assertThat(nonces(false)).as("what ran and was not confirmed").containsAll(unheard);
  }

  /** The nonces of the calls that were answered by Redis, or were not. */
  Set<String> nonces(boolean answered) {
    return store.calls().stream()
        .filter(call -> call.answered() == answered)
        .map(AuditedStore.Call::nonce)
        .collect(Collectors.toSet());
  }

  /** Calls whose counts differ so much that no reply fits another call. */
  static List<LimitRequest> unlikeCalls(int subjects) {
    return IntStream.range(0, subjects)
        .mapToObj(i -> call("unlike-" + i, 1_000L * (i + 1), HOUR))
        .toList();
  }

  /** Redis decides again, without intervention. */
  void assertHeals() {
    LimitRequest call = call("healing", 1_000_000, HOUR);
    await()
        .pollInterval(Duration.ofMillis(20))
        .atMost(HEALED.multipliedBy(NOISE))
        .until(() -> ask(call).decidedBy() == DecidedBy.STORE);
  }
}
