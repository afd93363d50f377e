// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.Counting;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.Rule.LoggedRule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.rule.TokenBucketRule;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Random;

/**
 * Generates scenarios for likely mistakes: window edges to the microsecond, costs around the count,
 * logs around the lengths at which a store changes their layout, several policies on one limit key,
 * clocks that stand still, leap and run backwards, and clocks of zones that are changed.
 */
public final class ScenarioGenerator {

  private static final long START = 1_700_000_000_000_000L;

  /** Stores count in doubles, which are exact below 2^53. */
  private static final long END = 8_500_000_000_000_000L;

  /** Three, in microseconds. */
  private static final long HOURS = 10_800_000_000L;

  /** Distance from a clock change, in microseconds: a plan contains the nearest change only. */
  private static final long MOST_FROM_CHANGE = Duration.ofDays(30).toNanos() / 1_000;

  /** For a subject whose rules change: how many of its latest stacks are used in turn. */
  private static final int IN_TURN = 3;

  /** The steps, on average, after which they change. */
  private static final int STEPS_OF_A_STACK = 15;

  /** More would take long, where a log stores each unit. */
  private static final int MOST_LOGGED = 5_000;

  /** The shares at which stacks warn, by the count of their first rule. */
  private static final double[] WARN_AT = {0, 0.5, 0.8, 1};

  private final Random random;
  private final boolean large;

  /** Whether most rules make calls wait, some of which are abandoned. */
  private final boolean queueing;

  /** Whether the rules of one subject change from time to time. */
  private final boolean changing;

  private final List<Policy> policies = new ArrayList<>();

  /**
   * Whether units are given back whose key was reset or lost in the meantime. Then the clock is
   * never set back; otherwise new cells could not be distinguished from old ones.
   */
  private final boolean resetsBeforeRefunds;

  private final List<RuleStack> concurrencyLimits = new ArrayList<>();
  private final List<Step> steps = new ArrayList<>();
  private final String name;
  private final RuleGenerator rules;
  private final Optional<Long> change;
  private long clock = START;
  private int lastRecord = -1;
  private int lastReset = -1;

  private ScenarioGenerator(long seed, boolean changing) {
    this.changing = changing;
    random = new Random(seed);
    large = random.nextInt(5) == 0;
    queueing = !changing && random.nextInt(5) == 0;
    resetsBeforeRefunds = random.nextInt(3) == 0;
    name = Long.toString(seed, 36);
    rules = new RuleGenerator(random, large);
    change = rules.change().map(at -> ChronoUnit.MICROS.between(Instant.EPOCH, at));
    change.ifPresent(at -> clock = at - random.nextLong(random.nextBoolean() ? HOURS : 24 * HOURS));
  }

  public static Scenario scenario(long seed) {
    return new ScenarioGenerator(seed, false).make(seed);
  }

  /**
   * A scenario in which the rules of one subject change: the old and the new ones are used in turn.
   */
  public static Scenario changing(long seed) {
    return new ScenarioGenerator(seed, true).make(seed);
  }

  private Scenario make(long seed) {
    int limits = 1 + random.nextInt(2);
    for (int i = changing ? 0 : 1 + random.nextInt(3); i > 0; i--) {
      String limit = name + "-" + random.nextInt(limits);
      List<Policy> sharing =
          policies.stream().filter(policy -> policy.limit().equals(limit)).toList();
      Rule guarding = rules.rule(1 + random.nextInt(2));
      Optional<RuleStack> guard =
          guarding.waits() || random.nextInt(3) > 0
              ? Optional.empty()
              : sharing.stream()
                  .flatMap(policy -> policy.duplicates().stream())
                  .findFirst()
                  .or(() -> Optional.of(RuleStack.of(List.of(guarding))));
      boolean begins = policies.isEmpty() || random.nextInt(queueing ? 9 : 3) > (queueing ? 7 : 0);
      RuleStack stack =
          !sharing.isEmpty() // under other numbers ChangedRulesDifferentialTest compares the stores
              ? rules.variant(sharing.get(0).stacks().get(0))
              : begins ? stack() : rules.variant(pick(policies).stacks().get(0));
      policies.add(new Policy(name, limit, List.of(stack), guard));
    }
    for (int i = random.nextInt(3); i > 0; i--) {
      concurrencyLimits.add(rules.concurrencyLimits());
    }
    for (int id = 0; id < (large ? 2_000 : queueing ? 1_000 : 400); id++) {
      if (changing && (id == 0 || random.nextInt(STEPS_OF_A_STACK) == 0)) {
        change();
      }
      Policy policy = pick(changing ? latest() : policies);
      clock += bounded(step(policy.stacks().get(0)));
      Step.Action action = action(policy, id);
      steps.add(new Step(id, clock, action));
      if (action instanceof Step.Decide decide && decide.mode() == Mode.RECORD) {
        lastRecord = id;
      } else if (action instanceof Step.Reset) {
        lastReset = id;
        clock++; // units taken from now on are distinguishable from those taken before
      }
    }
    return new Scenario(seed, steps);
  }

  private List<Policy> latest() {
    return policies.subList(Math.max(0, policies.size() - IN_TURN), policies.size());
  }

  /** Other rules for the subject: some more, some fewer, with other numbers, another ban. */
  private void change() {
    RuleStack changed = stack();
    if (!policies.isEmpty() && random.nextInt(5) > 0) {
      RuleStack before = pick(latest()).stacks().get(0);
      List<Rule> made = new ArrayList<>(before.rules());
      if (made.size() > 1 && random.nextBoolean()) {
        made.remove(random.nextInt(made.size()));
      }
      Rule other = pick(changed.rules());
      boolean fits =
          made.size() < RuleStack.MAX_RULES
              && made.stream()
                  .noneMatch(
                      one -> one.name().equals(other.name()) || (one.waits() && other.waits()));
      if (fits && random.nextBoolean()) {
        made.add(random.nextInt(made.size() + 1), other);
      }
      changed =
          random.nextInt(3) == 0
              ? before.ban().map(RuleStack.of(made)::withBan).orElseGet(() -> RuleStack.of(made))
              : rules.variant(RuleStack.of(made));
    }
    String limit = name + "-0";
    RuleStack all = changed.withCounting(Counting.ALL);
    policies.add(new Policy(name, limit, List.of(all), Optional.empty()));
  }

  private RuleStack stack() {
    int size =
        random.nextInt(3) == 0 ? 1 + random.nextInt(RuleStack.MAX_RULES) : 1 + random.nextInt(2);
    List<Rule> made = new ArrayList<>();
    if (queueing) {
      made.add(rules.queue());
    }
    while (made.size() < size) {
      Rule rule = queueing ? rules.rule(MOST_LOGGED) : rules.rule();
      if (made.stream()
          .noneMatch(
              other -> other.name().equals(rule.name()) || (other.waits() && rule.waits()))) {
        made.add(rule);
      }
    }
    boolean byOutcome = made.stream().noneMatch(Rule::waits) && random.nextInt(4) == 0;
    return rules
        .withBan(RuleStack.of(made))
        .withWarnAt(WARN_AT[(int) (made.get(0).count() % WARN_AT.length)])
        .withCounting(byOutcome ? pick(List.of(Counting.values())) : Counting.ALL);
  }

  /** How far the clock goes, measured by a rule or by the ban. */
  private long step(RuleStack stack) {
    if (stack.ban().isPresent() && random.nextInt(20) == 0) {
      BanRule ban = stack.ban().get();
      List<Duration> times = List.of(ban.within(), ban.time(), ban.longest());
      return MICROSECONDS.convert(pick(times)) - random.nextInt(2);
    }
    return step(measure(stack));
  }

  private Rule measure(RuleStack stack) {
    return queueing && stack.waiting().isPresent() ? stack.waiting().get() : pick(stack.rules());
  }

  private long step(Rule rule) {
    long window = rule.window().dividedBy(ChronoUnit.MICROS.getDuration());
    boolean atOnce = rule instanceof TokenBucketRule bucket && !bucket.greedy();
    long each =
        atOnce
            ? MICROSECONDS.convert(((TokenBucketRule) rule).interval())
            : Math.max(1, window / rule.count());
    // Otherwise a large log would never fill, and no call would wait.
    boolean slowly = queueing ? random.nextInt(200) > 0 : large && random.nextInt(40) > 0;
    return switch (slowly ? 16 + random.nextInt(3) : random.nextInt(19)) {
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
      default -> random.nextLong(each * (queueing ? 1 : 3));
    };
  }

  private long bounded(long step) {
    boolean tooEarly = resetsBeforeRefunds && step < 0;
    boolean tooFar = change.isPresent() && Math.abs(clock + step - change.get()) > MOST_FROM_CHANGE;
    return clock + step > END || tooFar || tooEarly ? 0 : step;
  }

  private long sometimes(int oneIn, long step) {
    return random.nextInt(oneIn) == 0 ? step : 0;
  }

  private Step.Action action(Policy policy, int id) {
    int dice = random.nextInt(100);
    boolean leaves = queueing && random.nextBoolean();
    if ((leaves || dice < 6) && id > 0) {
      return new Step.GiveBack(earlier(id, queueing ? 100 : 40), random.nextInt(3) == 0);
    }
    if (dice > 87 && id > 0) {
      return after(earlier(id, 40), policy);
    }
    LimitRequest request = request(policy);
    if (dice < 7) {
      boolean all = random.nextInt(4) == 0;
      return new Step.Reset(
          all ? Scenario.keys(steps) : List.of(pick(request.allCharges()).key()),
          random.nextBoolean());
    }
    Duration longest =
        policy.stacks().get(0).rules().stream()
            .map(Rule::longestLease)
            .min(Comparator.naturalOrder())
            .orElseThrow();
    if (dice > 82 && !longest.isZero()) {
      return lease(policy, MICROSECONDS.convert(longest), id);
    }
    Mode mode = dice < 22 ? Mode.PEEK : dice < 30 ? Mode.RECORD : Mode.ACQUIRE;
    return new Step.Decide(request, mode);
  }

  /** Takes a lease, or gives back some units of an earlier one. */
  private Step.Action lease(Policy policy, long longest, int id) {
    if (id > 0 && random.nextInt(3) > 0) {
      return new Step.GiveBackLeased(earlier(id, 40), 1 + random.nextInt(5));
    }
    RuleStack stack = policy.stacks().get(0);
    int most = stack.logs() > 0 ? MOST_LOGGED : Charge.MAX_COST;
    Charge units =
        Charge.of(policy.limit(), new Subject("ip", "of 0"), stack)
            .withCost(Math.min(most, cost(pick(stack.rules()))));
    return new Step.Lease(
        new LimitRequest(policy, List.of(units), Optional.empty()),
        random.nextBoolean() ? longest : 1 + random.nextLong(longest));
  }

  /** A step before this one, now and then the last that recorded; this one, if there is none. */
  private int earlier(int id, int within) {
    boolean recorded = lastRecord >= 0 && random.nextInt(4) == 0;
    int step = recorded ? lastRecord : Math.max(0, id - 1 - random.nextInt(within));
    return step > lastReset || resetsBeforeRefunds ? step : id;
  }

  /** An action on a call that was admitted. */
  private Step.Action after(int id, Policy policy) {
    if (!concurrencyLimits.isEmpty() && random.nextBoolean()) {
      return new Step.Renew(id);
    }
    Optional<Integer> cost =
        random.nextInt(3) > 0
            ? Optional.empty()
            : Optional.of(Math.min(MOST_LOGGED, cost(pick(policy.rules())) - random.nextInt(2)));
    return new Step.Settle(id, pick(List.of(Step.Settle.How.values())), cost);
  }

  private LimitRequest request(Policy policy) {
    Optional<String> submission =
        random.nextBoolean() ? Optional.empty() : Optional.of("submission " + random.nextInt(3));
    int who = random.nextInt(large || changing ? 20 : 4) == 0 ? 1 : 0;
    LimitRequest request = LimitRequest.of(policy, new Subject("ip", "of " + who), submission);
    if (random.nextInt(6)
        == 0) { // several subjects, each under the rules of some policy of the limit
      List<Charge> charges = new ArrayList<>(request.charges());
      for (int i = 1 + random.nextInt(3); i > 0; i--) {
        Subject user = new Subject("user-" + i, "of " + who);
        RuleStack other =
            pick(policies.stream().filter(one -> one.limit().equals(policy.limit())).toList())
                .stacks()
                .get(0);
        boolean waits = charges.stream().anyMatch(one -> one.stack().waiting().isPresent());
        if (!waits || other.waiting().isEmpty()) {
          charges.add(Charge.of(policy.limit(), user, other));
        }
      }
      request = new LimitRequest(policy, charges, request.duplicate());
    }
    if (!concurrencyLimits.isEmpty() && random.nextInt(3) == 0) {
      List<Charge> charges = new ArrayList<>(request.charges());
      Charge held =
          Charge.of(policy.limit(), new Subject("ip", "of " + who), pick(concurrencyLimits));
      charges.add(random.nextInt(charges.size() + 1), held.withCost(1 + random.nextInt(8) / 7));
      request = new LimitRequest(policy, charges, request.duplicate());
    }
    if (random.nextInt(8) == 0) {
      request = request.observe(charge -> random.nextBoolean());
    }
    boolean one = queueing && random.nextInt(9) > 0;
    int cost = one ? 1 : cost(measure(policy.stacks().get(0)));
    boolean logged =
        request.allCharges().stream()
            .flatMap(charge -> charge.stack().rules().stream())
            .anyMatch(rule -> rule instanceof LoggedRule);
    return request.withCost(Math.min(cost, logged ? MOST_LOGGED : Charge.MAX_COST));
  }

  private int cost(Rule rule) {
    int count = (int) Math.min(Charge.MAX_COST, rule.capacity());
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
}
