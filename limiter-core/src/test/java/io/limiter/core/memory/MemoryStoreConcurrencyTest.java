// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Charge;
import io.limiter.core.FadingCounter;
import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.limiter.core.rule.CalendarPeriod;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.TokenBucketRule;
import java.time.Duration;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

@Timeout(60)
class MemoryStoreConcurrencyTest {

  private static final int THREADS = 16;
  private static final Duration HOUR = Duration.ofHours(1);

  private final MemoryStore store = new MemoryStore(100_000, () -> 0);

  private Verdict decide(LimitRequest call, Mode mode) {
    return store.decide(call, mode).toCompletableFuture().join();
  }

  /** Runs the same on all threads at once; each has random numbers of its own. */
  private static void together(Consumer<Random> work) throws Exception {
    ExecutorService executor = Executors.newFixedThreadPool(THREADS);
    try {
      CountDownLatch start = new CountDownLatch(THREADS);
      List<Future<?>> done = new ArrayList<>();
      for (int thread = 0; thread < THREADS; thread++) {
        Random random = new Random(thread);
        done.add(
            executor.submit(
                () -> {
                  start.countDown();
                  start.await();
                  work.accept(random);
                  return null;
                }));
      }
      for (Future<?> one : done) {
        one.get(50, TimeUnit.SECONDS);
      }
    } finally {
      executor.shutdownNow();
    }
  }

  static List<Rule> rules() {
    return List.of(
        rule(10_000, HOUR),
        TokenBucketRule.of(10_000, 10_000, HOUR),
        FixedWindowRule.of(10_000, HOUR),
        FixedWindowRule.aligned(10_000, CalendarPeriod.MONTH, ZoneOffset.UTC),
        SlidingWindowCounterRule.of(10_000, HOUR),
        LeakyBucketRule.of(1_000_000, HOUR, 9_999, LeakyBucketRule.MAX_WAIT),
        CustomRule.of(new FadingCounter(), 10_000, HOUR, 2.0));
  }

  @ParameterizedTest
  @MethodSource("rules")
  void threadsOnOneKeyAreAdmittedExactlyCountTimes(Rule rule) throws Exception {
    LimitRequest call = call(rule, rule(20_000, HOUR.plusHours(1)));
    LongAdder admitted = new LongAdder();
    together(
        random -> {
          for (int i = 0; i < 20_000; i++) {
            if (decide(call, Mode.ACQUIRE).allowed()) {
              admitted.increment();
            }
          }
        });
    assertThat(admitted.sum()).isEqualTo(10_000);
  }

  @Test
  void overlappingCallsOfSeveralKeysNeitherLockUpNorCountWrongly() throws Exception {
    List<Charge> charges = new ArrayList<>();
    for (int i = 0; i < 12; i++) {
      charges.add(call("key " + i, rule(3_000, HOUR)).charge(0));
    }
    AtomicIntegerArray taken = new AtomicIntegerArray(charges.size());
    together(
        random -> {
          List<Integer> order = new ArrayList<>(List.of(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
          for (int i = 0; i < 10_000; i++) {
            Collections.shuffle(order, random);
            List<Integer> some = order.subList(0, 1 + random.nextInt(4));
            LimitRequest call =
                new LimitRequest(
                    call(rule(1, HOUR)).policy(),
                    some.stream().map(charges::get).toList(),
                    Optional.empty());
            if (decide(call, Mode.ACQUIRE).allowed()) {
              some.forEach(taken::incrementAndGet);
            }
          }
        });
    for (int i = 0; i < charges.size(); i++) {
      LimitRequest look = call("key " + i, rule(3_000, HOUR));
      assertThat(taken.get(i)).isLessThanOrEqualTo(3_000);
      assertThat(decide(look, Mode.PEEK).rules().get(0).remaining())
          .isEqualTo(3_000 - taken.get(i));
    }
    assertThat(taken.get(0)).isEqualTo(3_000);
  }

  @Test
  void unitsRefundedByAllAreAvailableToAll() throws Exception {
    LimitRequest call = call(rule(100, HOUR));
    LongAdder given = new LongAdder();
    LongAdder admitted = new LongAdder();
    together(
        random -> {
          for (int i = 0; i < 10_000; i++) {
            Verdict verdict = decide(call.withCost(1 + random.nextInt(9)), Mode.ACQUIRE);
            if (verdict.allowed()) {
              admitted.increment();
            }
            given.add(verdict.reservation().refund().toCompletableFuture().join());
            given.add(verdict.reservation().refund().toCompletableFuture().join());
          }
        });
    assertThat(admitted.sum()).isPositive();
    assertThat(given.sum()).isGreaterThanOrEqualTo(admitted.sum());
    assertThat(store.subjects()).isZero();
  }

  /** Calls read while others write: a log, whose ring grows and moves, and numbers. */
  @Test
  void aCallIsSeenByAllRulesOrByNone() throws Exception {
    LimitRequest call =
        call(
            rule(400, HOUR),
            FixedWindowRule.of(400, HOUR.multipliedBy(2)),
            TokenBucketRule.of(400, 1, HOUR.multipliedBy(3)));
    LongAdder looks = new LongAdder();
    together(
        random -> {
          for (int i = 0; i < 5_000; i++) {
            Mode mode = random.nextInt(4) == 0 ? Mode.ACQUIRE : Mode.PEEK;
            Verdict verdict = decide(call.withCost(1 + random.nextInt(3)), mode);
            List<Long> remaining = verdict.rules().stream().map(RuleVerdict::remaining).toList();
            assertThat(remaining).as("%s", mode).containsOnly(remaining.get(0));
            looks.increment();
            if (random.nextInt(500) == 0) {
              store.reset(List.of(call.charge(0).key()));
            } else if (random.nextInt(3) == 0) {
              verdict.reservation().refund();
            }
          }
        });
    assertThat(looks.sum()).isEqualTo(THREADS * 5_000L);
  }

  @Test
  void threadsNeverSetALogsTimeBack() throws Exception {
    try (MemoryStore running = new MemoryStore()) {
      LimitRequest call = call(rule(100_000, HOUR));
      together(
          random -> {
            for (int i = 0; i < 5_000; i++) {
              running.decide(call, Mode.ACQUIRE);
            }
          });
      String log = running.dump(call.charge(0).key()).orElseThrow();
      assertThat(log).contains("shift=0,");
    }
  }
}
