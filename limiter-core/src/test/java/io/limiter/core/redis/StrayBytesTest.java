// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Verdict;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.TokenBucketRule;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Whatever other software has left under the limiter's keys, Redis continues, and limits hold from
 * then on.
 */
@Tag("matrix")
class StrayBytesTest {

  private static final Duration MINUTE = Duration.ofMinutes(1);
  private static final Duration HOUR = Duration.ofHours(1);
  private static final int NEWEST = 8;

  private final TestRedis redis = new TestRedis();
  private final LimitStore store = redis.store();
  private long clock = 1_700_000_000_000_000L;

  StrayBytesTest() {
    redis.setClock(clock);
  }

  @AfterEach
  void close() {
    store.close();
    redis.close();
  }

  private byte[] name(LimitRequest call) {
    return redis.name(call.charge(0).key());
  }

  /** Whether the call is admitted; an invalid value may fail one call. */
  private boolean admits(LimitRequest call) throws Exception {
    try {
      return verdict(call).allowed();
    } catch (ExecutionException removed) {
      assertThat(removed).hasMessageContaining("Redis answered with the error ERR");
      return verdict(call).allowed();
    }
  }

  private Verdict verdict(LimitRequest call)
      throws InterruptedException, ExecutionException, TimeoutException {
    return store.decide(call, Mode.ACQUIRE).toCompletableFuture().get(10, TimeUnit.SECONDS);
  }

  private int admitted(LimitRequest call, int calls) throws Exception {
    int admitted = 0;
    for (int i = 0; i < calls; i++) {
      admitted += admits(call) ? 1 : 0;
    }
    return admitted;
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 5, 100, 118})
  void bytesBehindALogDelayNoCall(int units) throws Exception {
    LimitRequest call = call(rule(200, MINUTE), rule(300, HOUR));
    for (int stray = 1; stray < 8; stray++) {
      assertThat(admitted(call, units)).isEqualTo(units);
      redis.commands().append(name(call), new byte[stray]);
      clock += 61_000_000L; // all are too old for the first rule
      redis.setClock(clock);

      assertThat(admits(call)).isTrue();

      redis.commands().del(name(call));
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 118})
  void aTruncatedLogDelaysNoCall(int units) throws Exception {
    LimitRequest call = call(rule(200, MINUTE), rule(300, HOUR));
    for (int cut = 1; cut < 8 * units + 8; cut += 3) {
      assertThat(admitted(call, units)).isEqualTo(units);
      byte[] value = redis.commands().get(name(call));
      redis.commands().set(name(call), Arrays.copyOf(value, value.length - cut));
      clock += 61_000_000L;
      redis.setClock(clock);

      assertThat(admits(call)).isTrue();

      redis.commands().del(name(call));
    }
  }

  static Stream<List<Rule>> stacks() {
    return Stream.of(
        List.of(FixedWindowRule.of(3, MINUTE)),
        List.of(TokenBucketRule.of(3, 1, MINUTE)),
        List.of(rule(3, MINUTE)),
        List.of(rule(3, MINUTE), FixedWindowRule.of(5, HOUR)));
  }

  @ParameterizedTest
  @MethodSource("stacks")
  void impossibleTimesDoNotLiftTheLimit(List<Rule> rules) throws Exception {
    LimitRequest call = call(rules.toArray(Rule[]::new));
    for (double time : new double[] {-1e16, -1e300, Double.NEGATIVE_INFINITY, Double.NaN, 1e300}) {
      redis.commands().del(name(call));
      assertThat(admits(call)).isTrue();
      byte[] value = redis.commands().get(name(call));
      ByteBuffer.wrap(value).putDouble(NEWEST, time).putDouble(NEWEST + 8, time);
      redis.commands().set(name(call), value);

      assertThat(admitted(call, 20)).as("after the time %s", time).isBetween(2, 3);
    }
  }

  @Test
  void aBareHeaderIsALogWithoutUnits() throws Exception {
    LimitRequest call = call(rule(3, Duration.ofNanos(1_234_567_000)));
    assertThat(admits(call)).isTrue();
    byte[] value = redis.commands().get(name(call));
    redis.commands().set(name(call), Arrays.copyOf(value, value.length - 8));

    assertThat(admitted(call, 20)).isBetween(2, 3);
  }
}
