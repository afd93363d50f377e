// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static io.limiter.core.StoreHarness.HOUR;
import static io.limiter.core.StoreHarness.SECOND;
import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Answer;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.LogScenarios;
import io.limiter.core.Mode;
import io.limiter.core.Scenario;
import io.limiter.core.Step;
import io.limiter.core.Verdict;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What Redis holds of logs whose rules change, and that it counts them as memory does. */
@Tag("matrix")
class ChangedLogsTest {

  private static final int PLAIN = 37;
  private static final int WIDE = 69;

  private final TestRedis redis = new TestRedis();
  private final RedisStore store = redis.store();
  private long clock = 1_700_000_000_000_000L;

  @BeforeEach
  void begin() {
    redis.setClock(clock);
  }

  @AfterEach
  void close() {
    store.close();
    redis.close();
  }

  private void advance(Duration time) {
    clock += time.toNanos() / 1_000;
    redis.setClock(clock);
  }

  private static Verdict decide(LimitStore store, LimitRequest call, Mode mode) {
    return store.decide(call, mode).toCompletableFuture().join();
  }

  private static Verdict acquire(LimitStore store, LimitRequest call) {
    return decide(store, call, Mode.ACQUIRE);
  }

  private byte[] value(LimitRequest call) {
    return redis.commands().get(redis.name(call.charge(0).key()));
  }

  private void set(LimitRequest call, ByteBuffer value) {
    redis.commands().set(redis.name(call.charge(0).key()), value.array());
  }

  private long left(LimitStore asked, LimitRequest call) {
    return decide(asked, call, Mode.PEEK).rules().get(0).remaining();
  }

  @ParameterizedTest
  @ValueSource(ints = {20, 200, 400})
  void aRefundLeavesTheTimeToLive(int units) {
    LimitRequest call = call(rule(900, HOUR));
    List<Verdict> taken = new ArrayList<>();
    for (int i = 0; i < units; i++) {
      taken.add(acquire(store, call));
      advance(SECOND);
    }
    byte[] name = redis.name(call.charge(0).key());
    redis.commands().pexpire(name, 5_000_000);
    for (int which : new int[] {0, units / 2, units - 1}) {
      assertThat(taken.get(which).reservation().refund().toCompletableFuture().join()).isEqualTo(1);
      assertThat(redis.commands().pttl(name)).isBetween(4_900_000L, 5_000_000L);
    }
  }

  @Test
  void refundsOfALongLogGiveItsMemoryBack() {
    LimitRequest call = call(rule(9_000, HOUR));
    List<Verdict> taken = new ArrayList<>();
    for (int i = 0; i < 900; i++) {
      taken.add(acquire(store, call.withCost(10)));
      advance(SECOND);
    }
    Random random = new Random(1);
    for (int left = 899; left > 0; left--) {
      Verdict one = taken.remove(random.nextInt(taken.size()));
      assertThat(one.reservation().refund().toCompletableFuture().join()).isEqualTo(10);
      assertThat(value(call).length).as("%d units", 10 * left).isLessThan(100 + 8 * 20 * left);
    }
    assertThat(left(store, call)).isEqualTo(8_990);
  }

  private List<Answer> run(List<Step> steps, LimitStore asked) {
    List<Answer> answers = Scenario.run(steps, asked, redis::setClock);
    store.reset(Scenario.keys(steps)).toCompletableFuture().join();
    return answers;
  }

  @Test
  void logsOfChangingRulesAreCountedAsTheModelDoes() {
    LogScenarios.check(60_000, steps -> run(steps, store));
  }
}
