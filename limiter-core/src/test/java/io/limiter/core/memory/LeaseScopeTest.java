// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import static java.util.concurrent.TimeUnit.MICROSECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore.Grant;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.lease.RuleBounds;
import io.limiter.core.lease.RuleBounds.Admitted;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.rule.TokenBucketRule;
import java.time.Duration;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Model checking in a small scope: every sequence of so many steps of two instances, under rules of
 * few units and short windows, with the store's own arithmetic. In each step time goes on by a
 * tick, a call is decided by the store, or an instance takes a lease, spends a unit of it, or gives
 * back what is left of it. A sequence that leads to a known state is not continued again.
 */
class LeaseScopeTest {

  private static final Duration TICK = Duration.ofMillis(1);
  private static final int INSTANCES = 2;

  /** What is known of one sequence: the store, the leases, and all admitted units. */
  private static final class Run {
    private final RuleStack stack;
    private final Policy policy;
    private final AtomicLong clock = new AtomicLong(1_700_000_000_000_000L);
    private final MemoryStore store = new MemoryStore(10, clock::get);
    private final Grant[] grants = new Grant[INSTANCES];
    private final int[] left = new int[INSTANCES];
    private final long[] ends = new long[INSTANCES];
    private final List<Admitted> admitted = new ArrayList<>();
    private final List<Long> writes = new ArrayList<>();

    Run(RuleStack stack) {
      this.stack = stack;
      this.policy = new Policy("p", "p", List.of(stack), Optional.empty());
    }

    private LimitRequest units(int cost) {
      Charge charge = Charge.of("p", Subject.global(), stack).withCost(cost);
      return new LimitRequest(policy, List.of(charge), Optional.empty());
    }

    /** Makes a step. Returns false if it is not possible. */
    boolean step(int step) {
      if (step == 0) {
        clock.addAndGet(MICROSECONDS.convert(TICK));
        return true;
      } else if (step == 1) {
        if (store.decide(units(1), Mode.ACQUIRE).toCompletableFuture().join().allowed()) {
          admit(true);
          return true;
        }
        return false;
      }
      int instance = (step - 2) % INSTANCES;
      return switch ((step - 2) / INSTANCES) {
        case 0 -> lease(instance, 1, 1);
        case 1 -> lease(instance, 2, 1);
        case 2 -> lease(instance, 2, 2);
        case 3 -> spend(instance);
        case 4 -> giveBack(instance);
        default -> throw new AssertionError(step);
      };
    }

    static int steps() {
      return 2 + 5 * INSTANCES;
    }

    private boolean lease(int instance, int some, int ticks) {
      Grant grant = store.lease(units(some), TICK.multipliedBy(ticks)).toCompletableFuture().join();
      if (!grant.isGranted()) {
        return false;
      }
      grants[instance] = grant;
      left[instance] = some;
      ends[instance] = clock.get() + grant.micros();
      writes.add(clock.get());
      return true;
    }

    private boolean spend(int instance) {
      if (left[instance] == 0 || clock.get() >= ends[instance]) {
        return false;
      }
      left[instance]--;
      admit(false);
      return true;
    }

    private boolean giveBack(int instance) {
      // An anchored window without units begins again, at a time that the bound does not know.
      if (left[instance] == 0 || stack.rules().get(0).name().equals("anchored")) {
        return false;
      }
      grants[instance].giveBack().apply(left[instance]).toCompletableFuture().join();
      left[instance] = 0;
      return true;
    }

    private void admit(boolean byStore) {
      admitted.add(new Admitted(clock.get(), 1));
      if (byStore) {
        writes.add(clock.get());
      }
    }

    long over() {
      return stack.rules().stream()
          .mapToLong(rule -> RuleBounds.over(rule, admitted, writes))
          .max()
          .orElseThrow();
    }

    /** Equal if every continuation is. */
    String state() {
      StringBuilder state = new StringBuilder();
      state.append(store.dump(units(1).charge(0).key())).append(clock).append(admitted);
      for (int i = 0; i < INSTANCES; i++) {
        boolean usable = left[i] > 0;
        state.append(' ').append(left[i]).append(' ').append(usable ? ends[i] : 0);
      }
      return state.append(writes).toString();
    }
  }

  private static Duration ticks(int some) {
    return TICK.multipliedBy(some);
  }

  static Stream<List<Rule>> stacks() {
    return Stream.of(
        List.of(SlidingWindowLogRule.of(3, ticks(3))),
        List.of(SlidingWindowLogRule.of(2, ticks(2)), SlidingWindowLogRule.of(3, ticks(4))),
        List.of(SlidingWindowCounterRule.of(3, ticks(2))),
        List.of(FixedWindowRule.of(3, ticks(2)).withName("anchored")),
        List.of(FixedWindowRule.aligned(3, ticks(2), ZoneOffset.UTC)),
        List.of(TokenBucketRule.of(3, 1, ticks(1))),
        List.of(TokenBucketRule.of(4, 1, ticks(2))),
        List.of(new TokenBucketRule("together", 3, 2, ticks(2), false, 3)),
        List.of(SlidingWindowLogRule.of(3, ticks(3)), TokenBucketRule.of(3, 1, ticks(1))));
  }

  @ParameterizedTest
  @MethodSource("stacks")
  void noSequenceOfSixStepsExceedsARule(List<Rule> rules) {
    check(rules, 6);
  }

  @ParameterizedTest
  @MethodSource("stacks")
  @Tag("matrix")
  void noSequenceOfEightStepsExceedsARule(List<Rule> rules) {
    check(rules, 8);
  }

  private static void check(List<Rule> rules, int length) {
    Set<String> known = new HashSet<>();
    List<List<Integer>> sequences = List.of(List.of());
    for (int i = 0; i < length; i++) {
      List<List<Integer>> longer = new ArrayList<>();
      for (List<Integer> sequence : sequences) {
        for (int step = 0; step < Run.steps(); step++) {
          List<Integer> next = Stream.concat(sequence.stream(), Stream.of(step)).toList();
          Run run = new Run(RuleStack.of(rules));
          boolean possible = true;
          for (int each : next) {
            possible = run.step(each);
          }
          if (possible && known.add(run.state())) {
            assertThat(run.over()).as("units too many of %s after %s", rules, next).isNotPositive();
            longer.add(next);
          }
        }
      }
      sequences = longer;
    }
    assertThat(known).as("states").hasSizeGreaterThan(1_000);
  }
}
