// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.SECOND;
import static io.limiter.core.StoreHarness.call;

import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.testing.Seeds;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.function.Function;

/**
 * Scenarios of one subject whose rules change and change back: logs of up to some hundred units, by
 * stacks of other counts, windows and numbers of rules, in turn or one after another, with refunds,
 * settlements and renewals of earlier calls. {@link ScenarioGenerator} does all that too, but
 * seldom with a long log.
 */
public final class LogScenarios {

  private static final int STEPS = 400;

  private final Random random;
  private final boolean concurrencyLimits;

  private LogScenarios(long seed) {
    this.random = new Random(seed);
    this.concurrencyLimits = random.nextInt(4) == 0;
  }

  /**
   * Runs scenarios on a store and on the model, and fails at the first answer that differs.
   *
   * @param steps at least so many, unless the property sets another number
   * @param store runs the steps on a new store that never expires anything
   */
  public static void check(int steps, Function<List<Step>, List<Answer>> store) {
    Seeds.forEach(
        steps,
        seed -> {
          new Scenario(seed, new LogScenarios(seed).steps()).check(store);
          return STEPS;
        });
  }

  private List<Step> steps() {
    List<LimitRequest> calls = new ArrayList<>();
    for (int i = 2 + random.nextInt(3); i > 0; i--) {
      calls.add(call(concurrencyLimits ? new Rule[] {concurrencyLimit()} : rules()));
    }
    List<Step> steps = new ArrayList<>();
    long clock = 1_700_000_000_000_000L;
    int slow = random.nextBoolean() ? 1_500_000 : 150_000;
    for (int id = 0; id < STEPS; id++) {
      int far = random.nextInt(150);
      clock +=
          far == 1
              ? random.nextInt(130_000_000)
              : far == 2 ? -random.nextInt(60_000_000) : random.nextInt(slow);
      LimitRequest call = calls.get(id / 60 % 2 == 0 ? id / 120 % calls.size() : any(calls));
      steps.add(new Step(id, clock, action(id, call)));
    }
    return steps;
  }

  private int any(List<?> list) {
    return random.nextInt(list.size());
  }

  private Step.Action action(int id, LimitRequest call) {
    int dice = random.nextInt(10);
    if (dice > 2 || id == 0) {
      Mode mode = dice == 3 ? Mode.RECORD : dice == 4 ? Mode.PEEK : Mode.ACQUIRE;
      int cost = concurrencyLimits ? 1 : 1 + random.nextInt(random.nextInt(4) == 0 ? 60 : 4);
      return new Step.Decide(call.withCost(random.nextInt(50) == 0 ? 10 * cost : cost), mode);
    }
    int of = Math.max(0, id - 1 - random.nextInt(dice == 0 ? id : 5));
    if (concurrencyLimits && random.nextInt(3) > 0) {
      return new Step.Renew(of);
    }
    return concurrencyLimits || random.nextBoolean()
        ? new Step.GiveBack(of, false)
        : new Step.Settle(
            of, Step.Settle.How.SUCCEEDED, Optional.of(random.nextInt(12) * random.nextInt(12)));
  }

  private int count() {
    return random.nextInt(3) == 0 ? 10 + random.nextInt(110) : 150 + random.nextInt(400);
  }

  private Rule concurrencyLimit() {
    int seconds = 5 + random.nextInt(55);
    return ConcurrencyLimitRule.of((count() + 1) / 2, SECOND.multipliedBy(seconds));
  }

  private Rule[] rules() {
    Rule[] rules = new Rule[1 + random.nextInt(random.nextInt(3) == 0 ? 7 : 2)];
    for (int i = 0; i < rules.length; i++) {
      int seconds = 5 + random.nextInt(55);
      rules[i] =
          i > 0 && i == rules.length - 1 && random.nextInt(4) == 0
              ? FixedWindowRule.of(200 + random.nextInt(300), MINUTE).withName("fixed")
              : SlidingWindowLogRule.of(count(), SECOND.multipliedBy(seconds))
                  .withName("rule-" + i);
    }
    return rules;
  }
}
