// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.memory;

import io.github.bucket4j.Bucket;
import io.github.bucket4j.ConsumptionProbe;
import io.github.resilience4j.ratelimiter.RateLimiter;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import io.limiter.core.LimitRequest;
import io.limiter.core.Limiter;
import io.limiter.core.Policy;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.rule.TokenBucketRule;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/**
 * One decision within the process. Each peer limits one thing; with many subjects theirs are looked
 * up in a map, as their users have to do; the limiter does that itself.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.Throughput)
@SuppressWarnings("NullAway.Init") // JMH calls setUp before all else
public class InMemory {

  /** A count that is never used up. */
  private static final long PLENTY = 100_000_000;

  /** Whether calls are admitted; otherwise a thousand in a minute are, and the others denied. */
  @Param({"true", "false"})
  public boolean admitted;

  @Param({"1", "10000"})
  public int subjects;

  private Limiter limiter;
  private LimitRequest[] logs;
  private LimitRequest[] buckets;
  private String[] names;
  private Map<String, Bucket> bucket4j;
  private Map<String, RateLimiter> resilience4j;

  /** The next subject. */
  @State(Scope.Thread)
  public static class Turn {
    private int last;

    int next(int subjects) {
      last = last + 1 < subjects ? last + 1 : 0;
      return last;
    }
  }

  @Setup
  public void setUp() {
    limiter = new Limiter(new MemoryStore());
    Duration minute = Duration.ofMinutes(1);
    Duration hour = Duration.ofHours(1);
    // A log keeps each unit: at a million calls a second none is denied only if units soon become
    // too old to count.
    logs =
        admitted
            ? requests(
                "log",
                SlidingWindowLogRule.of(1_000_000, Duration.ofMillis(1)),
                SlidingWindowLogRule.of(1_000_000, Duration.ofMillis(2)))
            : requests(
                "log",
                SlidingWindowLogRule.of(1_000, minute),
                SlidingWindowLogRule.of(10_000, hour));
    long few = admitted ? PLENTY : 1_000;
    long many = admitted ? PLENTY : 10_000;
    buckets =
        requests(
            "bucket", TokenBucketRule.of(few, few, minute), TokenBucketRule.of(many, many, hour));
    names = new String[subjects];
    for (int i = 0; i < subjects; i++) {
      names[i] = "user-" + i;
    }
    bucket4j =
        each(
            name ->
                Bucket.builder()
                    .addLimit(limit -> limit.capacity(few).refillGreedy(few, minute))
                    .addLimit(limit -> limit.capacity(many).refillGreedy(many, hour))
                    .build());
    RateLimiterConfig one =
        RateLimiterConfig.custom()
            .limitForPeriod((int) few)
            .limitRefreshPeriod(minute)
            .timeoutDuration(Duration.ZERO)
            .build();
    resilience4j = each(name -> RateLimiter.of(name, one));
  }

  private LimitRequest[] requests(String name, Rule... rules) {
    Policy policy = Policy.of(name, rules);
    LimitRequest[] requests = new LimitRequest[subjects];
    for (int i = 0; i < subjects; i++) {
      requests[i] = LimitRequest.of(policy, new Subject("user", "user-" + i));
    }
    return requests;
  }

  private <T> Map<String, T> each(Function<String, T> make) {
    Map<String, T> all = new ConcurrentHashMap<>();
    for (String name : names) {
      all.put(name, make.apply(name));
    }
    return all;
  }

  @Benchmark
  public CompletionStage<Verdict> log(Turn turn) {
    return limiter.acquire(logs[turn.next(subjects)]);
  }

  @Benchmark
  public CompletionStage<Verdict> bucket(Turn turn) {
    return limiter.acquire(buckets[turn.next(subjects)]);
  }

  /** With what remains and all times of each rule, which a verdict computes when asked. */
  @Benchmark
  public List<RuleVerdict> logRead(Turn turn) {
    return read(limiter.acquire(logs[turn.next(subjects)]));
  }

  @Benchmark
  public List<RuleVerdict> bucketRead(Turn turn) {
    return read(limiter.acquire(buckets[turn.next(subjects)]));
  }

  private static List<RuleVerdict> read(CompletionStage<Verdict> decided) {
    return decided.toCompletableFuture().join().rules();
  }

  @Benchmark
  public ConsumptionProbe bucket4jProbe(Turn turn) {
    return of(bucket4j, turn).tryConsumeAndReturnRemaining(1);
  }

  @Benchmark
  public boolean bucket4jBit(Turn turn) {
    return of(bucket4j, turn).tryConsume(1);
  }

  @Benchmark
  public boolean resilience4j(Turn turn) {
    return of(resilience4j, turn).acquirePermission();
  }

  private <T> T of(Map<String, T> all, Turn turn) {
    T found = all.get(names[turn.next(subjects)]);
    if (found == null) {
      throw new IllegalStateException("Every subject has one");
    }
    return found;
  }
}
