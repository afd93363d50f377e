// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.LeakyBucketRule;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The immutable answer to one decision. A store derives it from a {@link
 * io.limiter.core.store.Decision}, or uses the builder:
 *
 * <pre>{@code
 * return Verdict.of(request.policy(), Outcome.LIMITED)
 *     .rules(List.of(rule))
 *     .decidedBy(DecidedBy.STORE)
 *     .build();
 * }</pre>
 */
public final class Verdict {

  private static final Duration NEVER = Duration.ofSeconds(Long.MAX_VALUE);

  private final Policy policy;
  private final Outcome outcome;

  /**
   * {@link LazyRules} until they are read, then {@link FixedRules}: several threads may compute
   * equal ones. A response reads them ten times, and a test for a final class is cheap.
   */
  private Object content;

  private final Extras extras;
  private final Reservation reservation;
  private final long decidedAtMicros;

  private Verdict(
      Policy policy,
      Outcome outcome,
      Object content,
      Extras extras,
      Reservation reservation,
      long decidedAtMicros) {
    this.policy = policy;
    this.outcome = outcome;
    this.content = content;
    this.extras = extras;
    this.reservation = reservation;
    this.decidedAtMicros = decidedAtMicros;
  }

  /** The verdicts of the rules and of the duplicate guard. */
  private record FixedRules(List<RuleVerdict> rules, Optional<RuleVerdict> duplicate) {}

  /** Who decided, and the parts that most verdicts lack. */
  private record Extras(
      DecidedBy decidedBy,
      Optional<Duration> ban,
      Duration delay,
      Optional<FailureReason> reason,
      Optional<Duration> storeRetryAfter,
      Duration later) {

    static final Extras STORE = new Extras(DecidedBy.STORE, Optional.empty(), Duration.ZERO);
    static final Extras LEASE = new Extras(DecidedBy.LEASE, Optional.empty(), Duration.ZERO);

    Extras(DecidedBy decidedBy, Optional<Duration> ban, Duration delay) {
      this(decidedBy, ban, delay, Optional.empty(), Optional.empty(), Duration.ZERO);
    }
  }

  /**
   * Creates the verdict of a store in one step, since every call creates one. For authors of
   * stores; the arguments are those of the {@link Builder}.
   *
   * @param rules computes the verdicts of the rules and of the duplicate guard when they are read
   */
  public static Verdict decided(
      Policy policy,
      Outcome outcome,
      LazyRules rules,
      Optional<Duration> ban,
      Duration delay,
      Reservation reservation,
      long decidedAtMicros) {
    return new Verdict(
        policy,
        outcome,
        rules,
        ban.isEmpty() && delay.isZero() ? Extras.STORE : new Extras(DecidedBy.STORE, ban, delay),
        reservation,
        decidedAtMicros);
  }

  /**
   * Begins a verdict. Without further steps it has no rules and no reservation, its call need not
   * wait, and a store decided.
   *
   * @param policy the policy that was applied
   * @param outcome the outcome of the decision
   */
  public static Builder of(Policy policy, Outcome outcome) {
    return new Builder(policy, outcome);
  }

  /** The verdict on a call that costs nothing, so that no store is asked. */
  public static Verdict free(Policy policy) {
    return of(policy, Outcome.ALLOWED).decidedBy(DecidedBy.NONE).build();
  }

  /**
   * The verdict on a call that was admitted by units which the store had granted in advance.
   *
   * @param rules computes the verdicts of the rules when they are asked for
   */
  public static Verdict leased(Policy policy, LazyRules rules, Reservation reservation) {
    return new Verdict(policy, Outcome.ALLOWED, rules, Extras.LEASE, reservation, 0);
  }

  /** The policy that was applied, with all rules of the call as they were declared. */
  public Policy policy() {
    return policy;
  }

  /** The outcome of the decision. */
  public Outcome outcome() {
    return outcome;
  }

  /**
   * The verdict of each rule, in the order of the policy; all of them, including rules that admit a
   * denied call. Immutable.
   */
  public List<RuleVerdict> rules() {
    return known().rules;
  }

  /** The verdict of the duplicate guard. */
  public Optional<RuleVerdict> duplicate() {
    return known().duplicate;
  }

  private FixedRules known() {
    Object current = content;
    if (current instanceof FixedRules known) {
      return known;
    }
    LazyRules lazy = (LazyRules) current;
    FixedRules known = new FixedRules(lazy.rules(), lazy.duplicate());
    content = known;
    return known;
  }

  /**
   * The remaining time of the ban that denies the call or that the call caused; the longest if
   * several subjects of the call are banned.
   */
  public Optional<Duration> ban() {
    return extras.ban;
  }

  /**
   * The time from the decision until the call may begin: zero unless a {@link LeakyBucketRule}
   * makes it wait, and zero if the call is denied or was only recorded. The code that runs the call
   * waits this long without holding a thread, or refunds the call.
   */
  public Duration delay() {
    return extras.delay;
  }

  /** Who decided. */
  public DecidedBy decidedBy() {
    return extras.decidedBy;
  }

  /** Why the fallback decided; empty if the store decided. */
  public Optional<FailureReason> reason() {
    return extras.reason;
  }

  /**
   * The time after which the store is asked again; empty if the store decided, and if the next call
   * asks it.
   */
  public Optional<Duration> storeRetryAfter() {
    return extras.storeRetryAfter;
  }

  /** The handle to give back or settle what was taken. */
  public Reservation reservation() {
    return reservation;
  }

  /**
   * When the store decided, in microseconds on the clock of the first state key: orders the
   * verdicts on that key; 0 if unknown.
   */
  public long decidedAtMicros() {
    return decidedAtMicros;
  }

  /** Returns whether the call may continue. */
  public boolean allowed() {
    return outcome == Outcome.ALLOWED;
  }

  /**
   * What is used and left of each rule after this decision, in the order of {@link #rules()}, and
   * in which period.
   */
  public List<Usage> usage() {
    return Usage.of(this);
  }

  /**
   * Whether a rule is {@linkplain RuleVerdict#nearLimit() near its limit}, by the share that the
   * policy {@linkplain Policy#withWarnAt warns at}.
   */
  public boolean nearLimit() {
    for (RuleVerdict rule : rules()) {
      if (rule.nearLimit()) {
        return true;
      }
    }
    return false;
  }

  /** The rules that deny the call, in the order of the policy. */
  public List<RuleVerdict> violated() {
    List<RuleVerdict> violated = new ArrayList<>(rules().size());
    for (RuleVerdict rule : rules()) {
      if (rule.denies()) {
        violated.add(rule);
      }
    }
    return Collections.unmodifiableList(violated);
  }

  /**
   * The rule that denies the call for the longest time: the one that messages, events and meters
   * name. A {@link ConcurrencyLimitRule}, whose wait is unknown, is returned only if no other rule
   * denies the call. Empty if no rule denies it.
   */
  public Optional<RuleVerdict> denying() {
    RuleVerdict longest = null;
    for (RuleVerdict rule : rules()) {
      if (rule.denies() && (longest == null || wait(rule).compareTo(wait(longest)) > 0)) {
        longest = rule;
      }
    }
    return Optional.ofNullable(longest);
  }

  private static Duration wait(RuleVerdict rule) {
    return rule.retryAfter().orElse(rule.tooCostly() ? NEVER : Duration.ZERO);
  }

  /**
   * Returns whether a rule denies the call because it costs more than the rule ever admits at once.
   * Such a call can never succeed.
   */
  public boolean tooCostly() {
    List<RuleVerdict> rules = rules();
    for (int r = 0; r < rules.size(); r++) {
      if (rules.get(r).denies() && rules.get(r).tooCostly()) {
        return true;
      }
    }
    Optional<RuleVerdict> guard = duplicate();
    return guard.isPresent() && guard.get().denies() && guard.get().tooCostly();
  }

  /**
   * The time after which the same call would pass every rule and the duplicate guard if there are
   * no calls in between: the longest of all rules that deny it. If no store decided, the time after
   * which the store is asked again. Empty if the call is allowed, if it can never succeed ({@link
   * #tooCostly()}), and if only a {@link ConcurrencyLimitRule} denies it, because the time at which
   * a permit becomes free is unknown. A denial that is {@link #retriedLater spread} adds its share.
   */
  public Optional<Duration> retryAfter() {
    Optional<Duration> wait = ownRetryAfter();
    return wait.isEmpty() || extras.later.isZero()
        ? wait
        : Optional.of(wait.get().plus(extras.later));
  }

  private Optional<Duration> ownRetryAfter() {
    if (outcome == Outcome.UNAVAILABLE) {
      return extras.storeRetryAfter;
    }
    if (tooCostly()) {
      return Optional.empty();
    }
    Optional<Duration> longest = extras.ban;
    for (RuleVerdict rule : rules()) {
      longest = longer(longest, rule);
    }
    Optional<RuleVerdict> guard = duplicate();
    return guard.isPresent() ? longer(longest, guard.get()) : longest;
  }

  private static Optional<Duration> longer(Optional<Duration> known, RuleVerdict rule) {
    Optional<Duration> own = rule.denies() ? rule.retryAfter() : Optional.empty();
    return own.isPresent() && (known.isEmpty() || own.get().compareTo(known.get()) > 0)
        ? own
        : known;
  }

  /**
   * Returns this verdict with a longer {@link #retryAfter()}, if it has one, so that the callers of
   * equal denials do not return together. The verdicts of its rules are the same.
   *
   * @param more the time that is added
   */
  public Verdict retriedLater(Duration more) {
    return with(
        new Extras(
            extras.decidedBy,
            extras.ban,
            extras.delay,
            extras.reason,
            extras.storeRetryAfter,
            extras.later.plus(more)));
  }

  private Verdict with(Extras other) {
    return new Verdict(policy, outcome, content, other, reservation, decidedAtMicros);
  }

  /** Returns this verdict with another reservation. */
  public Verdict withReservation(Reservation other) {
    return new Verdict(policy, outcome, content, extras, other, decidedAtMicros);
  }

  /**
   * Returns this verdict with more rules, which were decided otherwise.
   *
   * @param all computes the verdicts of all rules when they are asked for
   */
  public Verdict withRules(LazyRules all, Reservation other) {
    return new Verdict(policy, outcome, all, extras, other, decidedAtMicros);
  }

  /** Returns this verdict under another policy, such as the one of several that denies the call. */
  public Verdict withPolicy(Policy other) {
    return new Verdict(other, outcome, content, extras, reservation, decidedAtMicros);
  }

  /**
   * Joins two verdicts that have admitted one call, to report both: it has the rules of both, and
   * the reservation of the later one. If the fallback decided once, it counts as who decided.
   *
   * @param later on the same call
   * @param both the policies of both, see {@link Policy#and}: the same for many calls
   */
  public Verdict and(Verdict later, Policy both) {
    List<RuleVerdict> all = new ArrayList<>(rules());
    all.addAll(later.rules());
    Verdict counts =
        later.decidedBy() == DecidedBy.NONE || decidedBy() == DecidedBy.FALLBACK ? this : later;
    return new Verdict(
        both,
        later.outcome,
        new FixedRules(List.copyOf(all), later.duplicate()),
        counts.extras,
        later.reservation,
        counts.decidedAtMicros);
  }

  /** Returns this verdict as one of the fallback, which decided because the store failed. */
  public Verdict fromFallback(StoreException why) {
    return with(
        new Extras(
            DecidedBy.FALLBACK,
            extras.ban,
            extras.delay,
            Optional.of(why.reason()),
            why.retryAfter(),
            extras.later));
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof Verdict that
        && outcome == that.outcome
        && decidedAtMicros == that.decidedAtMicros
        && policy.equals(that.policy)
        && known().equals(that.known())
        && extras.equals(that.extras)
        && reservation.equals(that.reservation);
  }

  @Override
  public int hashCode() {
    return Objects.hash(policy, outcome, known(), extras, reservation, decidedAtMicros);
  }

  /** Omits the reservation, whose text depends on the store. */
  @Override
  public String toString() {
    return "Verdict[policy="
        + policy.name()
        + ", outcome="
        + outcome
        + ", rules="
        + rules()
        + ", duplicate="
        + duplicate()
        + ", ban="
        + extras.ban
        + ", delay="
        + extras.delay
        + ", decidedBy="
        + extras.decidedBy
        + ", reason="
        + extras.reason
        + ", storeRetryAfter="
        + extras.storeRetryAfter
        + ", later="
        + extras.later
        + ", decidedAtMicros="
        + decidedAtMicros
        + ']';
  }

  /**
   * The part of a verdict that most calls do not read; the store computes it on demand. Both
   * methods always return equal values, whatever happens to the subject after the decision, and
   * never throw. Thread-safe.
   */
  public interface LazyRules {

    /** See {@link Verdict#rules()}; called once, or once by each of several threads. */
    List<RuleVerdict> rules();

    /** See {@link Verdict#duplicate()}; called as often. */
    Optional<RuleVerdict> duplicate();
  }

  /** Builds a {@link Verdict}. Every step is optional. Not thread-safe. */
  public static final class Builder {

    private final Policy policy;
    private final Outcome outcome;
    private List<RuleVerdict> rules = List.of();
    private Optional<RuleVerdict> duplicate = Optional.empty();
    private Optional<Duration> ban = Optional.empty();
    private Duration delay = Duration.ZERO;
    private DecidedBy decidedBy = DecidedBy.STORE;
    private Optional<FailureReason> reason = Optional.empty();
    private Optional<Duration> storeRetryAfter = Optional.empty();
    private Reservation reservation = Reservation.NOTHING;
    private long decidedAtMicros;

    private Builder(Policy policy, Outcome outcome) {
      this.policy = policy;
      this.outcome = outcome;
    }

    /** The verdict of each rule, in the order of the policy; none by default. */
    public Builder rules(List<RuleVerdict> each) {
      this.rules = List.copyOf(each);
      return this;
    }

    /** The verdict of the duplicate guard; none by default. */
    public Builder duplicate(RuleVerdict guard) {
      this.duplicate = Optional.of(guard);
      return this;
    }

    /** The remaining time of a ban; none by default. */
    public Builder ban(Duration remaining) {
      this.ban = Optional.of(remaining);
      return this;
    }

    /** The time until the call may begin; zero by default. */
    public Builder delay(Duration untilTheCall) {
      this.delay = untilTheCall;
      return this;
    }

    /** Who decided; {@link DecidedBy#STORE} by default. */
    public Builder decidedBy(DecidedBy who) {
      this.decidedBy = who;
      return this;
    }

    /** Why the fallback decided; none by default. */
    public Builder reason(FailureReason why) {
      this.reason = Optional.of(why);
      return this;
    }

    /** The time after which the store is asked again; none by default. */
    public Builder storeRetryAfter(Duration untilTheStore) {
      this.storeRetryAfter = Optional.of(untilTheStore);
      return this;
    }

    /** The handle to give back what was taken; {@link Reservation#NOTHING} by default. */
    public Builder reservation(Reservation taken) {
      this.reservation = taken;
      return this;
    }

    /** When the store decided, in microseconds on its clock; 0, unknown, by default. */
    public Builder decidedAtMicros(long micros) {
      this.decidedAtMicros = micros;
      return this;
    }

    /** Builds the verdict. */
    public Verdict build() {
      return new Verdict(
          policy,
          outcome,
          new FixedRules(rules, duplicate),
          new Extras(decidedBy, ban, delay, reason, storeRetryAfter, Duration.ZERO),
          reservation,
          decidedAtMicros);
    }
  }
}
