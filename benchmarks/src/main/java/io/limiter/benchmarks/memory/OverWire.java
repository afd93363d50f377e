// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.memory;

import io.limiter.core.LimitRequest;
import io.limiter.core.Limiter;
import io.limiter.core.Policy;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.RedisStore;
import io.limiter.core.rule.SlidingWindowLogRule;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CompletionStage;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/**
 * The work of a decision over Redis in this process, without Redis and its driver: the call is
 * encoded, its deadline set, and the reply, which is there at once, read into a verdict.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.Throughput)
@SuppressWarnings("NullAway.Init") // JMH calls setUp before all else
public class OverWire {

  /** A real reply to an admitted call, in hexadecimal digits. */
  @Param("")
  public String reply;

  private Limiter limiter;
  private LimitRequest request;

  static LimitRequest request() {
    return LimitRequest.of(
        Policy.of(
            "two",
            SlidingWindowLogRule.of(1_000, Duration.ofMinutes(1)),
            SlidingWindowLogRule.of(10_000, Duration.ofHours(1))),
        new Subject("user", "user-1"));
  }

  @Setup
  public void setUp() {
    byte[] bytes = HexFormat.of().parseHex(reply);
    limiter = new Limiter(new RedisStore(new RepliedCommands(bytes), RedisSettings.defaults()));
    request = request();
  }

  @Benchmark
  public CompletionStage<Verdict> decision() {
    return limiter.acquire(request);
  }

  /** The numbers of the rules are read, too. */
  @Benchmark
  public List<RuleVerdict> decisionRead() {
    return limiter.acquire(request).toCompletableFuture().join().rules();
  }
}
