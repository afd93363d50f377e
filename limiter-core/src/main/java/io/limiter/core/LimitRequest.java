// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * One call, decided as a whole: nothing is taken under any key unless all rules of all keys admit
 * the call.
 *
 * @param policy the policy with all rules of the call
 * @param charges what the call takes under the keys of its subjects, in the order in which rules
 *     are reported
 * @param duplicate what the call takes from the duplicate guard
 * @param past units that the store records before it decides; empty unless the store was away
 */
public record LimitRequest(
    Policy policy, List<Charge> charges, Optional<Charge> duplicate, List<PastCharge> past) {

  public LimitRequest {
    charges = List.copyOf(charges);
    past = List.copyOf(past);
    if (charges.isEmpty() && duplicate.isEmpty()) {
      throw new IllegalArgumentException(
          "A request under the policy '%s' charges nothing".formatted(policy.name()));
    }
    Optional<Rule> waiting = Optional.empty();
    for (int i = 0; i < charges.size(); i++) {
      Optional<Rule> waits =
          charges.get(i).observed() ? Optional.empty() : charges.get(i).stack().waiting();
      if (waits.isPresent() && waiting.isPresent()) {
        RuleStack.requireOneThatWaits(List.of(waiting.get().name(), waits.get().name()));
      }
      waiting = waits.isPresent() ? waits : waiting;
      for (int j = i + 1; j < charges.size(); j++) {
        requireDifferent(policy, charges.get(i), charges.get(j));
      }
      if (duplicate.isPresent()) {
        requireDifferent(policy, charges.get(i), duplicate.get());
      }
    }
  }

  /** Creates a request without past charges. */
  public LimitRequest(Policy policy, List<Charge> charges, Optional<Charge> duplicate) {
    this(policy, charges, duplicate, List.of());
  }

  /** Returns this request with past charges that the store records before it decides. */
  public LimitRequest after(List<PastCharge> taken) {
    return new LimitRequest(policy, charges, duplicate, taken);
  }

  /**
   * Rejects two charges of one subject and kind of calls: under one key each would be decided
   * without the units of the other, and both would write the same ban.
   */
  private static void requireDifferent(Policy policy, Charge one, Charge other) {
    if (one.key().countsAlike(other.key())) {
      throw new IllegalArgumentException(
          "A request under the policy '%s' charges one key twice: put the rules of one subject into one stack"
              .formatted(policy.name()));
    }
  }

  /**
   * Returns a request of one unit for this subject. With a duplicate guard, every call of the
   * subject is the same submission.
   */
  public static LimitRequest of(Policy policy, Subject subject) {
    return of(policy, subject, Optional.empty());
  }

  /**
   * Returns a request of one unit for this subject.
   *
   * @param submission identifies the submission; empty if every call of the subject is the same
   *     submission
   */
  public static LimitRequest of(Policy policy, Subject subject, Optional<String> submission) {
    StateKey key = StateKey.of(policy.limit(), subject);
    return of(
        policy,
        key,
        guard ->
            submission
                .map(text -> key.duplicates(guard, text))
                .orElseGet(() -> key.duplicates(guard)));
  }

  /**
   * Returns a request of one unit, whose submitter may differ from the subject that the rules
   * count.
   *
   * @param submission identifies the submission among those of the submitter
   */
  public static LimitRequest of(
      Policy policy, Subject subject, Subject submitter, String submission) {
    StateKey key = StateKey.of(policy.limit(), subject);
    StateKey submitted = submitter.equals(subject) ? key : StateKey.of(policy.limit(), submitter);
    return of(policy, key, guard -> submitted.duplicates(guard, submission));
  }

  private static LimitRequest of(
      Policy policy, StateKey counted, Function<RuleStack, StateKey> submission) {
    if (policy.stacks().size() > 1) {
      throw new IllegalArgumentException(
          "The policy '%s' has %s stacks of rules, one for each subject: create a policy and a request for each stack, and join the requests with LimitRequest.and"
              .formatted(policy.name(), policy.stacks().size()));
    }
    List<Charge> charges =
        policy.stacks().stream()
            .map(stack -> new Charge(policy.limit(), counted.of(stack), stack, 1))
            .toList();
    return new LimitRequest(
        policy,
        charges,
        policy
            .duplicates()
            .map(guard -> new Charge(policy.limit(), submission.apply(guard), guard, 1)));
  }

  /**
   * Returns this request with another cost. The duplicate guard and concurrency limits keep a cost
   * of one unit.
   */
  public LimitRequest withCost(int cost) {
    List<Charge> priced =
        charges.stream()
            .map(
                charge ->
                    charge.stack().permitDuration().isPresent() ? charge : charge.withCost(cost))
            .toList();
    return new LimitRequest(policy, priced, duplicate);
  }

  /**
   * Returns this request with its rules and its duplicate guard observed, so that none of them
   * denies the call.
   */
  public LimitRequest observe() {
    return observe(charge -> true);
  }

  /** Returns this request with the selected charges observed. */
  public LimitRequest observe(Predicate<Charge> some) {
    return new LimitRequest(
        policy,
        charges.stream().map(charge -> some.test(charge) ? charge.observe() : charge).toList(),
        duplicate.map(charge -> some.test(charge) ? charge.observe() : charge));
  }

  /**
   * Joins this request and another into one that is decided all or nothing. Use it where a call
   * counts for several subjects, such as its caller and everybody.
   *
   * <pre>{@code
   * limiter.acquire(LimitRequest.of(each, caller).and(LimitRequest.of(all, Subject.global())));
   * }</pre>
   *
   * <p>The policy of the verdict has the name of this request's policy and the rules of both: first
   * the rules of this request, then those of the other.
   *
   * @throws IllegalArgumentException if both charge one key, if both have a duplicate guard, or if
   *     both have a rule that makes calls wait
   */
  public LimitRequest and(LimitRequest other) {
    if (duplicate.isPresent() && other.duplicate.isPresent()) {
      throw new IllegalArgumentException(
          "The policies '%s' and '%s' both have a duplicate guard: one call is one submission, so keep the guard of one of them"
              .formatted(policy.name(), other.policy.name()));
    }
    List<Charge> both = new ArrayList<>(charges);
    both.addAll(other.charges);
    return new LimitRequest(policy.and(other.policy), both, duplicate.or(other::duplicate));
  }

  /** The number of all charges, including that of the duplicate guard. */
  public int size() {
    return charges.size() + (duplicate.isPresent() ? 1 : 0);
  }

  /** Returns one element of {@link #allCharges()} without creating the list. */
  public Charge charge(int index) {
    return index < charges.size() ? charges.get(index) : duplicate.orElseThrow();
  }

  /** All charges; that of the duplicate guard is the last one. */
  public List<Charge> allCharges() {
    if (duplicate.isEmpty()) {
      return charges;
    }
    List<Charge> all = new ArrayList<>(charges);
    all.add(duplicate.get());
    return all;
  }

  /**
   * Units that the fallback took while the store was away. The store records them before it decides
   * the call that carries them, whether or not it admits that call. For authors of stores: a store
   * records what it {@linkplain #markSent takes}, once, and reports what it {@linkplain #refused
   * has not recorded}.
   */
  public static final class PastCharge {

    private final Charge charge;
    private final Duration age;
    private final Runnable refused;
    private final AtomicBoolean taken = new AtomicBoolean();
    private final AtomicBoolean returned = new AtomicBoolean();

    /**
     * Creates units that are lost if the store refuses them.
     *
     * @param charge a charge under one of the keys of the call; its cost is the number of units
     * @param age the time since the units were taken, zero or more. The store counts them as that
     *     old, but not as older than the newest units it holds, since its logs are in order
     */
    public PastCharge(Charge charge, Duration age) {
      this(charge, age, () -> {});
    }

    /**
     * @param charge a charge under one of the keys of the call; its cost is the number of units
     * @param age the time since the units were taken, as above
     * @param refused runs once if the store has not recorded them, on any thread; must not block
     */
    public PastCharge(Charge charge, Duration age, Runnable refused) {
      if (age.isNegative()) {
        throw new IllegalArgumentException(
            "Past units have the age %s: use an age of zero or more".formatted(age));
      }
      this.charge = charge;
      this.age = age;
      this.refused = refused;
    }

    public Charge charge() {
      return charge;
    }

    public Duration age() {
      return age;
    }

    /** Returns true once. From then on the units count as recorded, even if the report is lost. */
    public boolean markSent() {
      return taken.compareAndSet(false, true);
    }

    /**
     * The units are certain not to be recorded, so that another call may carry them. Not for a
     * report whose outcome is unknown. Only who has {@linkplain #markSent taken} them calls this.
     */
    public void refused() {
      if (returned.compareAndSet(false, true)) {
        refused.run();
      }
    }

    @Override
    public String toString() {
      return "PastCharge[charge=%s, age=%s]".formatted(charge, age);
    }
  }
}
