// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.Charge;
import io.limiter.core.Completion;
import io.limiter.core.rule.Counting;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.annotation.ResultCost;
import io.limiter.micronaut.annotation.StreamEnd;
import io.limiter.micronaut.plan.NamedBeans.BeanRef;
import io.micronaut.core.annotation.Internal;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The effects of the completion of a method's calls. Rules of one method have names of their own,
 * so no two of its stacks are equal.
 *
 * @param decide whether the completion matters; otherwise it need not be observed. It matters where
 *     units may be given back at the end, or when a waiting call is abandoned
 * @param waits whether a call may have to wait before it begins
 * @param failures which calls have failed, by the stacks that count by outcome
 * @param costs what calls have cost in the end, by the stacks where it may differ
 * @param streams whether the items of its streams have a cost
 * @param counted what counts calls by their answers; empty for nearly all plans
 */
@Internal
public record CompletionPlan(
    boolean decide,
    boolean waits,
    Map<RuleStack, Failure> failures,
    Map<RuleStack, ActualCost> costs,
    boolean streams,
    Set<CountedAnswers> counted) {

  /** Of calls that count when they are admitted, whatever their outcome. */
  public static final CompletionPlan NONE =
      new CompletionPlan(false, false, Map.of(), Map.of(), false, Set.of());

  static CompletionPlan of(List<PolicyPlan> policies) {
    Map<RuleStack, Failure> failures = new HashMap<>();
    Map<RuleStack, ActualCost> costs = new HashMap<>();
    boolean streams = false;
    boolean waits = false;
    boolean permits = false;
    for (PolicyPlan policy : policies) {
      for (PlannedCharge planned : policy.charges()) {
        for (RuleStack stack : List.of(planned.rules(), planned.anonymousRules())) {
          if (stack.counting() != Counting.ALL) {
            failures.put(stack, policy.failure());
          }
          ActualCost cost = planned.actualCost().orElse(null);
          streams |= cost != null && cost.steps().isPresent();
          if (cost != null && !cost.steps().filter(Steps::certain).isPresent()) {
            costs.put(stack, cost);
          }
          waits |= stack.waiting().isPresent();
          permits |= stack.permitDuration().isPresent();
        }
      }
    }
    return waits || permits || !failures.isEmpty() || !costs.isEmpty() || streams
        ? new CompletionPlan(
            true,
            waits,
            Map.copyOf(failures),
            Map.copyOf(costs),
            streams,
            failures.values().stream()
                .flatMap(failure -> failure.counted().stream())
                .collect(Collectors.toUnmodifiableSet()))
        : NONE;
  }

  /** Whether the units to give back depend on the status of the response. */
  public boolean byStatus() {
    return !failures.isEmpty();
  }

  /** What the stacks of a call have cost by its result; each bean is asked once. */
  public Map<RuleStack, Integer> actual(@Nullable Object result) {
    if (costs.isEmpty()) {
      return Map.of();
    }
    Map<ActualCost, OptionalInt> actualByBean = new HashMap<>();
    Map<RuleStack, Integer> actual = new HashMap<>();
    costs.forEach(
        (stack, cost) ->
            actualByBean
                .computeIfAbsent(cost, bean -> bean.of(result))
                .ifPresent(units -> actual.put(stack, units)));
    return actual;
  }

  /**
   * The completion of a call with a response of this status; outside of HTTP, the status that an
   * exception counts as.
   *
   * @param threw whether its method threw, whatever response was made of that
   * @param actual what its stacks have cost, as planned, as far as that is known
   * @param counted which of {@link #counted} count it; those that are missing do
   */
  public Completion completion(
      int status,
      boolean threw,
      Map<RuleStack, Integer> actual,
      Map<CountedAnswers, Boolean> counted) {
    boolean any = false;
    boolean all = true;
    for (Failure failure : failures.values()) {
      boolean failed = failure.of(status, threw, counted);
      any |= failed;
      all &= failed;
    }
    if (any != all && !failures.isEmpty()) { // it has failed for some policies alone
      return Completion.unknown()
          .withCosts(charge -> counts(charge, status, threw, counted) ? cost(charge, actual) : 0);
    }
    Completion completion = any ? Completion.failed() : Completion.succeeded();
    return withCosts(completion, actual);
  }

  private static Completion withCosts(Completion completion, Map<RuleStack, Integer> actual) {
    return actual.isEmpty() ? completion : completion.withCosts(charge -> cost(charge, actual));
  }

  private boolean counts(
      Charge charge, int status, boolean threw, Map<CountedAnswers, Boolean> counted) {
    Failure failure = failures.get(planned(charge.stack()));
    return failure == null
        || failure.of(status, threw, counted) == (charge.stack().counting() == Counting.FAILURES);
  }

  private static int cost(Charge charge, Map<RuleStack, Integer> actual) {
    return actual.getOrDefault(planned(charge.stack()), charge.cost());
  }

  /** A stack as it was planned: calls have it with the day of their subject. */
  public static RuleStack planned(RuleStack ofCall) {
    return ofCall.forSubject(SubjectAnchor.USUAL);
  }

  /**
   * The completion of a call whose end was not observed. It counts as if it had done everything: a
   * caller that disconnects in time could guess passwords without a limit otherwise.
   *
   * @param entered whether its method had begun; else it has neither failed nor succeeded
   * @param actual what its stacks have cost, as far as that is known
   */
  public static Completion unseen(boolean entered, Map<RuleStack, Integer> actual) {
    return entered
        ? withCosts(Completion.unknown(), actual)
        : Completion.unknown().withCosts(CompletionPlan::ofNoOutcome);
  }

  /**
   * The call has arrived, which rules that count all calls count; it no longer waits, so that it
   * keeps no place in a queue.
   */
  private static int ofNoOutcome(Charge charge) {
    boolean arrived =
        charge.stack().counting() == Counting.ALL && charge.stack().waiting().isEmpty();
    return arrived ? charge.cost() : 0;
  }

  /**
   * What a call or an item has cost, as a bean of the application computes from it. Two of them are
   * equal if they name the same bean, and take the same steps.
   *
   * @param steps how a stream takes its units; empty if the method does not stream
   * @param clamped counts the costs that were out of range
   */
  @Internal
  public record ActualCost(BeanRef<ResultCost> bean, Optional<Steps> steps, LongAdder clamped) {

    /**
     * The units, 0 to {@value Charge#MAX_COST}: a cost out of range is the nearest of them, so that
     * no call is cheap because it costs too much. Empty if the bean fails.
     */
    public OptionalInt of(@Nullable Object result) {
      try {
        long cost = bean.object().get().of(result);
        long units = Math.max(0, Math.min(Charge.MAX_COST, cost));
        if (units != cost) {
          clamped.increment();
          long times = BrokenCosts.CLAMPED.count();
          if (times > 0) {
            BrokenCosts.LOG.error(
                "{} has returned {}, which counts as {}: let it return 0 to {}. Occurrences since the last message: {}",
                bean,
                cost,
                units,
                Charge.MAX_COST,
                times);
          }
        }
        return OptionalInt.of((int) units);
      } catch (Throwable broken) { // the call itself has been made
        BrokenCosts.THROTTLE.report(
            BrokenCosts.LOG,
            "%s has failed, so %s"
                .formatted(
                    bean,
                    steps.isPresent() ? "items cost 1" : "calls are charged their estimated cost"),
            broken);
        return OptionalInt.empty();
      }
    }

    /** Creates the log when it is first needed. */
    private static final class BrokenCosts {

      static final Logger LOG = LoggerFactory.getLogger(ActualCost.class);
      static final LogThrottle THROTTLE = new LogThrottle();
      static final LogThrottle CLAMPED = new LogThrottle();
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof ActualCost that && bean.equals(that.bean) && steps.equals(that.steps);
    }

    @Override
    public int hashCode() {
      return bean.hashCode();
    }

    @Override
    public String toString() {
      return bean.name();
    }
  }

  /**
   * How a stream takes its units.
   *
   * @param units of a step; 0 for the cost of the call
   * @param certain whether the method always streams; else only its result shows it
   */
  @Internal
  public record Steps(int units, StreamEnd end, boolean certain) {}

  /**
   * Which calls have failed.
   *
   * @param statuses those that are failures, 400 to 599; empty if any exception is one, and any
   *     status of 400 and above
   * @param counted what counts calls by their answers, in place of statuses: a call that does not
   *     count has failed, for rules that count successes
   */
  @Internal
  public record Failure(Optional<Set<Integer>> statuses, Optional<CountedAnswers> counted) {

    /** Unless an annotation lists statuses. */
    public static final Failure USUAL = new Failure(Optional.empty(), Optional.empty());

    private static final int FIRST = 400;

    /**
     * Whether a call has failed.
     *
     * @param status of its answer; outside of HTTP, what an exception counts as
     * @param threw whether its method threw, whatever response was made of that
     * @param answers which conditions count the call
     */
    boolean of(int status, boolean threw, Map<CountedAnswers, Boolean> answers) {
      if (counted.isPresent()) {
        return !answers.getOrDefault(counted.get(), true);
      }
      return statuses.map(some -> some.contains(status)).orElse(threw || status >= FIRST);
    }
  }
}
