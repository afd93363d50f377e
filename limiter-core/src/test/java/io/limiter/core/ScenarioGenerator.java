// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;

/**
 * Makes scenarios that go where mistakes live: window edges to the microsecond, costs around the
 * count, logs around the lengths at which a store changes their layout, several policies on one
 * limit, clocks that stand still, leap and run backwards.
 */
final class ScenarioGenerator {

  private static final long START = 1_700_000_000_000_000L;

  /** Stores count in doubles, which are exact below 2^53. */
  private static final long END = 8_500_000_000_000_000L;

  /** Three, in microseconds. */
  private static final long HOURS = 10_800_000_000L;

  private static final long[] WINDOWS = {
    1_000,
    7_919,
    1_000_000,
    1_000_001,
    60_000_000,
    3_600_000_000L,
    86_400_000_000L,
    31_622_400_000_000L
  };
  private static final long[] NEAR_WINDOWS = {1_000_000, 1_000_001, 2_000_000, 5_000_000};
  private static final int[] FEW = {1, 1, 2, 3, 5, 7, 10, 30};
  private static final int[] MANY = {30, 117, 118, 119, 120, 130, 150, 240, 500, 2_000};

  private final Random random;
  private final boolean large;
  private final List<Policy> policies = new ArrayList<>();
  private final List<Step> steps = new ArrayList<>();
  private final String name;
  private long clock = START;

  private ScenarioGenerator(long seed) {
    random = new Random(seed);
    large = random.nextInt(5) == 0;
    name = Long.toString(seed, 36);
  }

  static Scenario scenario(long seed) {
    return new ScenarioGenerator(seed).make(seed);
  }

  private Scenario make(long seed) {
    int limits = 1 + random.nextInt(2);
    for (int i = 1 + random.nextInt(3); i > 0; i--) {
      String limit = name + "-" + random.nextInt(limits);
      Optional<RuleStack> guard =
          random.nextInt(3) > 0
              ? Optional.empty()
              : Optional.of(RuleStack.of(List.of(rule(1 + random.nextInt(2)))));
      policies.add(new Policy(name, limit, Optional.of(stack()), guard));
    }
    for (int id = 0; id < (large ? 2_000 : 400); id++) {
      Policy policy = pick(policies);
      clock += step(pick(policy.rules().orElseThrow().rules()));
      steps.add(new Step(id, clock, action(policy, id)));
    }
    return new Scenario(seed, steps);
  }

  private RuleStack stack() {
    int size =
        random.nextInt(3) == 0 ? 1 + random.nextInt(RuleStack.MAX_RULES) : 1 + random.nextInt(2);
    List<Rule> rules = new ArrayList<>();
    while (rules.size() < size) {
      Rule rule = rule(large ? pick(MANY) : pick(FEW));
      if (rules.stream().noneMatch(other -> other.name().equals(rule.name()))) {
        rules.add(rule);
      }
    }
    return RuleStack.of(rules);
  }

  private Rule rule(int count) {
    long window =
        large && random.nextInt(4) > 0
            ? pick(NEAR_WINDOWS)
            : WINDOWS[random.nextInt(random.nextInt(4) == 0 ? WINDOWS.length : 6)];
    return SlidingWindowLog.of(count, Duration.of(window, ChronoUnit.MICROS));
  }

  /** How far the clock goes, measured by a rule. */
  private long step(Rule rule) {
    long window = rule.window().dividedBy(ChronoUnit.MICROS.getDuration());
    long each = Math.max(1, window / rule.count());
    boolean slowly = large && random.nextInt(40) > 0; // else a large log would never fill
    long step =
        switch (slowly ? 16 + random.nextInt(3) : random.nextInt(19)) {
          case 0 -> 1;
          case 1 -> 1_000;
          case 2 -> each - 1;
          case 3 -> each;
          case 4 -> each + 1;
          case 5 -> window - 1;
          case 6 -> window;
          case 7 -> window + 1;
          case 8 -> random.nextLong(window + 1);
          case 9 -> random.nextLong(each + 1);
          case 10 -> sometimes(20, 10 * window);
          case 11 -> sometimes(8, random.nextLong(HOURS));
          case 12 -> sometimes(4, -random.nextLong(1 + Math.min(window, 1_000_000)));
          case 13 -> sometimes(20, -random.nextLong(HOURS));
          case 14, 15, 16 -> 0;
          case 17 -> random.nextLong(each / 4 + 1);
          default -> random.nextLong(each * 3);
        };
    return clock + step > END ? 0 : step;
  }

  private long sometimes(int oneIn, long step) {
    return random.nextInt(oneIn) == 0 ? step : 0;
  }

  private Step.Action action(Policy policy, int id) {
    int dice = random.nextInt(100);
    if (dice < 6 && id > 0) {
      return new Step.GiveBack(Math.max(0, id - 1 - random.nextInt(40)), random.nextInt(3) == 0);
    }
    LimitRequest request = request(policy);
    if (dice < 7) {
      return new Step.Reset(List.of(pick(request.allCharges()).key()));
    }
    Mode mode = dice < 22 ? Mode.PEEK : dice < 30 ? Mode.RECORD : Mode.ACQUIRE;
    return new Step.Decide(request, mode);
  }

  private LimitRequest request(Policy policy) {
    Optional<String> submission =
        random.nextBoolean() ? Optional.empty() : Optional.of("submission " + random.nextInt(3));
    int who = random.nextInt(large ? 20 : 4) == 0 ? 1 : 0;
    LimitRequest request = LimitRequest.of(policy, new Subject("ip", "of " + who), submission);
    if (random.nextInt(6) == 0) { // several subjects, each under the rules of some policy
      List<Charge> charges = new ArrayList<>(request.charges());
      for (int i = 1 + random.nextInt(3); i > 0; i--) {
        Key key = Key.of(policy.limit(), new Subject("user-" + i, "of " + who));
        charges.add(new Charge(policy.limit(), key, pick(policies).rules().orElseThrow(), 1));
      }
      request = new LimitRequest(policy, charges, request.duplicate());
    }
    return request.withCost(cost(pick(policy.rules().orElseThrow().rules())));
  }

  private int cost(Rule rule) {
    int count = (int) rule.count();
    int cost =
        switch (random.nextInt(large ? 36 : 14)) {
          case 0 -> 2;
          case 1 -> random.nextInt(3) == 0 ? count - 1 : count / 2;
          case 2 -> random.nextInt(6) == 0 ? count : count / 3;
          case 3 -> random.nextInt(6) == 0 ? count + 1 : 1;
          case 4 -> 1 + random.nextInt(count);
          case 20, 21, 22, 23, 24 -> 1 + random.nextInt(1 + count / 8);
          default -> 1;
        };
    return Math.max(1, cost);
  }

  private <T> T pick(List<T> list) {
    return list.get(random.nextInt(list.size()));
  }

  private long pick(long[] array) {
    return array[random.nextInt(array.length)];
  }

  private int pick(int[] array) {
    return array[random.nextInt(array.length)];
  }
}
