// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static io.limiter.core.StoreHarness.HOUR;
import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.SECOND;
import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Answer;
import io.limiter.core.LimitRequest;
import io.limiter.core.LogScenarios;
import io.limiter.core.Scenario;
import io.limiter.core.Step;
import io.limiter.core.Verdict;
import io.limiter.core.store.LimitStore;
import io.limiter.core.store.Mode;
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

/** What Redis holds of logs whose rules change, and that it counts them as memory does (I10). */
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

  /** Otherwise each call of a deployment would copy the log. */
  @Test
  void stacksThatTakeTurnsWriteALongLogInPlace() {
    LimitRequest one = call(rule(1_000, HOUR));
    LimitRequest other = call(rule(900, MINUTE), rule(800, SECOND), rule(700, SECOND.dividedBy(2)));
    assertThat(acquire(store, one.withCost(400)).allowed()).isTrue();
    assertThat(value(one)[PLAIN - 1]).isEqualTo((byte) (16 + 1));
    assertThat(acquire(store, other).allowed()).isTrue();
    int length = value(one).length;
    assertThat(length).isEqualTo(WIDE + 8 * (401 + 401 / 8));
    for (int i = 0; i < 40; i++) {
      advance(Duration.ofMillis(1));
      assertThat(acquire(store, i % 2 == 0 ? one : other).allowed()).isTrue();
      assertThat(value(one)).as("call %d", i).hasSize(length);
    }
    assertThat(left(store, one)).isEqualTo(1_000 - 441);
    assertThat(left(store, other)).isEqualTo(900 - 441);
  }

  /** Once one stack is used alone, its own header returns when the room is used up. */
  @Test
  void aHeaderIsWideForNoLongerThanItHasToBe() {
    LimitRequest longer = call(rule(1_000, HOUR));
    LimitRequest call = call(rule(900, MINUTE));
    acquire(store, longer.withCost(10));
    acquire(store, call);
    assertThat(value(call)[PLAIN - 1]).isEqualTo((byte) (16 + 8));
    advance(HOUR);
    acquire(store, call);
    assertThat(value(call)).hasSize(PLAIN + 4 + 8);

    acquire(store, longer.withCost(200));
    acquire(store, call);
    advance(HOUR);
    acquire(store, call.withCost(150));
    assertThat(value(call)[PLAIN - 1]).isEqualTo((byte) (16 + 1));
  }

  @ParameterizedTest
  @ValueSource(ints = {100, 150, 400})
  void aDeniedCallUnderOtherRulesWritesNothing(int units) {
    LimitRequest one = call(rule(units, HOUR));
    acquire(store, one.withCost(units));
    byte[] written = value(one);
    LimitRequest other = call(rule(units - 1, MINUTE), rule(units, HOUR.multipliedBy(2)));
    assertThat(acquire(store, other).allowed()).isFalse();
    assertThat(value(one)).isEqualTo(written);
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

  /** Times and unit counts that no wide header can contain are ignored. */
  @Test
  void aWideHeaderThatSomebodyElseWroteDeniesForNoLongerThanAWindow() {
    LimitRequest longer = call(rule(300, HOUR));
    LimitRequest call = call(rule(200, MINUTE));
    Random random = new Random(2);
    for (int units : new int[] {40, 160}) {
      for (int i = 0; i < 300; i++) {
        redis.commands().del(redis.name(call.charge(0).key()));
        acquire(store, longer);
        acquire(store, call.withCost(units));
        ByteBuffer value = ByteBuffer.wrap(value(call));
        assertThat(value.get(PLAIN - 1)).isEqualTo((byte) (16 + 8));
        for (int b = 0; b <= random.nextInt(4); b++) {
          int at = random.nextInt(24, WIDE);
          value.put(at == PLAIN - 1 ? 40 : at, (byte) random.nextInt(256));
        }
        set(call, value);
        int admitted = 0;
        for (int calls = 0; calls < 250; calls += 10) {
          try {
            Verdict verdict = acquire(store, call.withCost(10));
            admitted += verdict.allowed() ? 10 : 0;
            assertThat(verdict.retryAfter().orElse(MINUTE)).isLessThanOrEqualTo(MINUTE);
          } catch (RuntimeException removed) {
            assertThat(removed).hasMessageContaining("Redis answered with the error ERR");
          }
        }
        assertThat(admitted).isLessThanOrEqualTo(200);
        advance(MINUTE);
        assertThat(acquire(store, call.withCost(200)).allowed()).isTrue();
      }
    }
  }

  /** Otherwise it would take no unit, and admit without end. */
  @Test
  void aLogThatIsToKeepLessThanItsRulesCountKeepsAsMuchAsTheyDo() {
    LimitRequest call = call(rule(200, MINUTE));
    acquire(store, call.withCost(150));
    set(call, ByteBuffer.wrap(value(call)).putInt(24, 0));
    for (int i = 0; i < 50; i++) {
      assertThat(acquire(store, call).allowed()).isTrue();
    }
    assertThat(acquire(store, call).allowed()).isFalse();
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
