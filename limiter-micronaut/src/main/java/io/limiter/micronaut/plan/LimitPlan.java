// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.Policy;
import io.limiter.core.StateKey;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.rule.SlidingWindowLog;
import io.limiter.core.util.BoundedCache;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.plan.DuplicateGuard.Submission;
import io.limiter.micronaut.plan.PlannedCharge.Cost;
import io.limiter.micronaut.subject.CallExpression;
import io.limiter.micronaut.subject.SubjectSource;
import io.limiter.micronaut.thread.WarmUpStep;
import io.micronaut.core.annotation.Internal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.function.ToIntFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** How one method is limited. Made once for each method, and never changed. */
@Internal
public final class LimitPlan {

  /** Of one plan. */
  private static final int MAX_PARTS = 64;

  private final String method;
  private final Policy policy;
  private final List<PlannedCharge> charges;
  private final int[] units; // of each of them; 0 if the arguments of a call determine them
  private final Optional<DuplicateGuard> duplicates;
  private final Map<String, DenialText> texts;
  private final CompletionPlan.Failure failure;
  private final CompletionPlan outcomes;
  private final DenialPlan denials;
  private final boolean enforced;
  private final boolean takesVerdict;
  private final boolean endsAtGate;
  private final boolean exempts;
  private final boolean isSameForAll;
  private final boolean decidedByRequest;
  private final boolean beforeSecurity;
  private final boolean guarded;
  private final boolean countsUsers;
  private final List<Condition> conditions;
  private final Map<String, LimitPlan> tiers;
  private final boolean waits;
  private final boolean countsByCompletion;
  private volatile @Nullable Object derived;
  // By the conditions that do not limit a call.
  private final BoundedCache<Set<Condition>, LimitPlan> parts =
      new BoundedCache<>(MAX_PARTS, this::without);
  private volatile @Nullable LimitPlan guardOnly;

  /**
   * @param method the method's class, name and parameter types
   * @param name the name of its policy
   * @param charges what it takes from which subjects; none only if there is a duplicate guard
   * @param texts the texts of denials, by the name of the rule that denies
   * @param failure which of its calls have failed
   * @param denials the treatment of calls that are denied
   * @param beforeSecurity whether they are decided before security; then the request decides them
   * @param guarded whether the method is guarded; without, the gate alone limits a route
   */
  public LimitPlan(
      String method,
      String name,
      List<PlannedCharge> charges,
      Optional<DuplicateGuard> duplicates,
      Map<String, DenialText> texts,
      CompletionPlan.Failure failure,
      DenialPlan denials,
      boolean beforeSecurity,
      boolean guarded) {
    this.failure = failure;
    this.denials = denials;
    this.beforeSecurity = beforeSecurity;
    this.guarded = guarded;
    this.method = method;
    this.charges = charges;
    this.duplicates = duplicates;
    this.texts = texts;
    this.outcomes = CompletionPlan.of(charges, failure);
    this.policy = policy(name, charges, duplicates);
    this.countsUsers =
        Stream.concat(
                charges.stream().map(PlannedCharge::source),
                duplicates.stream().map(DuplicateGuard::submitter))
            .anyMatch(SubjectSource.User.class::isInstance);
    this.conditions =
        Stream.concat(
                charges.stream().flatMap(planned -> planned.condition().stream()),
                duplicates.flatMap(DuplicateGuard::condition).stream())
            .distinct()
            .toList();
    this.tiers = Map.of();
    this.exempts = false;
    this.isSameForAll = conditions.isEmpty();
    this.units = charges.stream().mapToInt(PlannedCharge::units).toArray();
    this.waits = outcomes.waits();
    this.countsByCompletion = outcomes.decide() || duplicates.isPresent();
    this.enforced = !denials.observed();
    this.takesVerdict = denials.takesVerdict();
    this.endsAtGate = !countsByCompletion && !waits && !takesVerdict;
    this.decidedByRequest =
        conditions.stream().noneMatch(Condition::needsArguments)
            && charges.stream()
                .noneMatch(
                    planned -> planned.source().needsArguments() || planned.cost().needsArguments())
            && duplicates
                .filter(
                    guard ->
                        guard.submission().needsArguments() || guard.submitter().needsArguments())
                .isEmpty();
  }

  /** A part of a plan, which is decided where the whole plan is. */
  private LimitPlan(
      LimitPlan whole,
      List<PlannedCharge> charges,
      Optional<DuplicateGuard> duplicates,
      Map<String, DenialText> texts,
      Map<String, LimitPlan> tiers,
      boolean exempts) {
    this.failure = whole.failure;
    this.denials = whole.denials;
    this.beforeSecurity = whole.beforeSecurity;
    this.guarded = whole.guarded;
    this.method = whole.method;
    this.charges = charges;
    this.duplicates = duplicates;
    this.texts = texts;
    this.outcomes = CompletionPlan.of(charges, failure);
    this.policy =
        isEmpty()
            ? whole.policy // nothing is charged by it
            : policy(whole.policy.name(), charges, duplicates);
    this.countsUsers = whole.countsUsers;
    this.conditions = whole.conditions;
    this.tiers = tiers;
    this.exempts = exempts;
    this.isSameForAll = conditions.isEmpty() && tiers.isEmpty() && !exempts;
    this.units = charges.stream().mapToInt(PlannedCharge::units).toArray();
    this.waits = outcomes.waits() || tiers.values().stream().anyMatch(LimitPlan::waits);
    this.countsByCompletion =
        outcomes.decide()
            || duplicates.isPresent()
            || tiers.values().stream().anyMatch(LimitPlan::countsByCompletion);
    this.enforced = whole.enforced;
    this.takesVerdict = whole.takesVerdict;
    this.endsAtGate = !countsByCompletion && !waits && !takesVerdict;
    this.decidedByRequest = whole.decidedByRequest;
  }

  private static Policy policy(
      String name, List<PlannedCharge> charges, Optional<DuplicateGuard> duplicates) {
    return new Policy(
        name,
        charges.isEmpty() ? duplicates.orElseThrow().limit() : charges.get(0).limit(),
        charges.stream().map(PlannedCharge::rules).toList(),
        duplicates.map(DuplicateGuard::stack));
  }

  /**
   * A plan of no method, for a {@link WarmUpStep}: it admits one call of an address in a second, or
   * one submission, and denies the next.
   *
   * @param limit what is limited, and nothing else is limited under this name
   * @param submissions whether it has a duplicate guard and no rule, else the reverse
   * @param text the text of a denial
   */
  public static LimitPlan ofWarmUp(String limit, boolean submissions, DenialText text) {
    RuleStack stack = RuleStack.of(List.of(SlidingWindowLog.of(1, Duration.ofSeconds(1))));
    SubjectSource source = new SubjectSource.Address();
    PlannedCharge planned =
        new PlannedCharge(
            limit, source, stack, stack, Cost.ONE, Optional.empty(), Optional.empty());
    DuplicateGuard guard =
        new DuplicateGuard(
            limit,
            source,
            stack,
            new Submission.ByCaller(),
            Optional.empty(),
            new DuplicateGuard.Release.OnFailure(),
            text,
            Optional.empty());
    return new LimitPlan(
        WarmUpStep.POLICY,
        WarmUpStep.POLICY,
        submissions ? List.of() : List.of(planned),
        submissions ? Optional.of(guard) : Optional.empty(),
        Map.of(stack.rules().get(0).name(), text),
        CompletionPlan.Failure.USUAL,
        new DenialPlan(WarmUpStep.POLICY, false, false),
        false,
        true);
  }

  /**
   * What another part of the limiter makes of this plan, once, and what is forgotten with it.
   *
   * @param type of this type there is one
   */
  public <T> T derived(Class<T> type, Supplier<T> make) {
    Object known = derived;
    if (known == null) {
      synchronized (this) {
        known = derived == null ? make.get() : derived;
        derived = known;
      }
    }
    return type.cast(known);
  }

  /**
   * Returns the same plan with others for some callers.
   *
   * @param others by the names of the tiers; empty for a tier without limits
   * @param exempting whether there are callers without limits
   */
  LimitPlan forSomeCallers(Map<String, Optional<LimitPlan>> others, boolean exempting) {
    Map<String, LimitPlan> plans = new HashMap<>();
    others.forEach(
        (tier, plan) ->
            plans.put(
                tier,
                new LimitPlan(
                    this,
                    plan.map(LimitPlan::charges).orElse(List.of()),
                    plan.flatMap(LimitPlan::duplicates),
                    plan.map(LimitPlan::texts).orElse(Map.of()),
                    Map.of(),
                    false)));
    return new LimitPlan(this, charges, duplicates, texts, Map.copyOf(plans), exempting);
  }

  /** Whether nothing is charged by it. */
  private boolean isEmpty() {
    return charges.isEmpty() && duplicates.isEmpty();
  }

  /** Whether it holds for all callers and all calls, so that no part of it is to be found. */
  public boolean isSameForAll() {
    return isSameForAll;
  }

  /** Whether the tier of a caller makes a difference. */
  public boolean isTiered() {
    return !tiers.isEmpty();
  }

  /** The plan for callers of a tier: this one unless the tier has limits of its own. */
  public LimitPlan inTier(String tier) {
    return tiers.getOrDefault(tier, this);
  }

  /** The conditions that select what of this plan holds for a call; each once. */
  public List<Condition> conditions() {
    return conditions;
  }

  /** The plan for a call that some conditions select. */
  public LimitPlan where(Predicate<Condition> limits) {
    Set<Condition> not = new HashSet<>();
    for (Condition condition : conditions) {
      if (!limits.test(condition)) {
        not.add(condition);
      }
    }
    return not.isEmpty() ? this : parts.get(not);
  }

  /** The plan for a call that these conditions do not select. */
  private LimitPlan without(Set<Condition> not) {
    return new LimitPlan(
        this,
        charges.stream()
            .filter(planned -> planned.condition().filter(not::contains).isEmpty())
            .toList(),
        duplicates.filter(guard -> guard.condition().filter(not::contains).isEmpty()),
        texts,
        Map.of(),
        false);
  }

  /** The plan for an exempt caller: only duplicates are denied. */
  public LimitPlan ofExempt() {
    LimitPlan known = guardOnly;
    if (known == null) {
      known =
          charges.isEmpty()
              ? this
              : new LimitPlan(this, List.of(), duplicates, texts, Map.of(), false);
      guardOnly = known;
    }
    return known;
  }

  /**
   * Returns a plan that decides by both: the calls of this method, and what another plan limits in
   * addition. The rules that it adds have names that differ from those of this plan.
   *
   * @param other of no method
   */
  LimitPlan and(LimitPlan other) {
    Set<String> names = new HashSet<>();
    charges.forEach(planned -> names.addAll(planned.ruleNames()));
    List<PlannedCharge> all = new ArrayList<>(charges);
    Map<String, DenialText> allTexts = new HashMap<>(texts);
    for (PlannedCharge planned : other.charges) {
      Map<String, String> renamed = new HashMap<>();
      for (String name : planned.ruleNames()) {
        String distinct = name;
        for (int i = 2; !names.add(distinct); i++) {
          distinct = name + '-' + i;
        }
        renamed.put(name, distinct);
        if (other.texts.containsKey(name)) {
          allTexts.put(distinct, other.texts.get(name));
        }
      }
      all.add(planned.withRuleNames(renamed));
    }
    LimitPlan both =
        new LimitPlan(
            method,
            policy.name(),
            all,
            duplicates.or(() -> other.duplicates),
            Map.copyOf(allTexts),
            failure,
            denials,
            beforeSecurity && !other.countsUsers,
            guarded || other.guarded);
    Map<String, Optional<LimitPlan>> bothByTier = new HashMap<>();
    Stream.concat(tiers.keySet().stream(), other.tiers.keySet().stream())
        .distinct()
        .forEach(
            tier -> {
              LimitPlan own = inTier(tier);
              LimitPlan added = other.inTier(tier);
              bothByTier.put(
                  tier,
                  own.isEmpty() && added.isEmpty()
                      ? Optional.empty()
                      : Optional.of(own.and(added)));
            });
    return bothByTier.isEmpty() && !exempts && !other.exempts
        ? both
        : both.forSomeCallers(bothByTier, exempts || other.exempts);
  }

  /** The method's class, name and parameter types; of no method, the name of its policy. */
  public String method() {
    return method;
  }

  /**
   * The policy that verdicts on its calls bear: its name, and all its rules, as they are for
   * callers that the source of their subject identifies.
   */
  public Policy policy() {
    return policy;
  }

  public List<PlannedCharge> charges() {
    return charges;
  }

  public Map<String, DenialText> texts() {
    return texts;
  }

  public Optional<DuplicateGuard> duplicates() {
    return duplicates;
  }

  /**
   * Whether the method is guarded, so that a call that the gate has admitted is taken over where
   * the method begins. If not, only its response shows how it ends.
   */
  public boolean isGuarded() {
    return guarded;
  }

  /** What the end of its calls decides. */
  public CompletionPlan outcomes() {
    return outcomes;
  }

  /**
   * Whether the request alone decides, so that the gate can, before arguments are bound and the
   * body is read.
   */
  public boolean decidedByRequest() {
    return decidedByRequest;
  }

  /** Whether a rule, or the duplicate guard, counts the user who is logged in, by USER_ID. */
  public boolean countsUsers() {
    return countsUsers;
  }

  /** Whether it has rules, and all of them count what clients choose freely. */
  public boolean isCountedByChoice() {
    return !charges.isEmpty() && charges.stream().allMatch(planned -> planned.source().isChosen());
  }

  /** Whether the gate decides before security, so that security does not see denied requests. */
  public boolean beforeSecurity() {
    return beforeSecurity;
  }

  /** After which outcomes a submission may be made again. */
  public DuplicateGuard.Release release() {
    return duplicates.map(DuplicateGuard::release).orElseGet(DuplicateGuard.Release.Never::new);
  }

  /**
   * Whether the completion of a call matters, or that its caller leaves while it waits; of a plan
   * with tiers, in one of them.
   */
  public boolean countsByCompletion() {
    return countsByCompletion;
  }

  /**
   * Whether the limiter has nothing to do for a call once the gate has admitted it: neither its
   * completion nor its arguments matter.
   */
  public boolean endsAtGate() {
    return endsAtGate;
  }

  /** Whether a call may have to wait for its turn; of a plan with tiers, in one of them. */
  public boolean waits() {
    return waits;
  }

  /** Whether the method has a parameter for the verdict. */
  public boolean takesVerdict() {
    return takesVerdict;
  }

  /** Whether a call may enter the method on this verdict. */
  public boolean admits(Verdict verdict) {
    if (!enforced) {
      denials.observe(verdict);
      return true;
    }
    return verdict.allowed() || takesVerdict;
  }

  /**
   * The request to the store for one call; empty if the call is charged nothing.
   *
   * @param who finds the subject of a source
   * @param what finds the content by which a submission is compared with others; empty if it
   *     duplicates none
   * @param price computes the units of the call from its arguments
   */
  public Optional<LimitRequest> request(
      Function<SubjectSource, Subject> who,
      Function<Submission, Optional<String>> what,
      ToIntFunction<CallExpression> price) {
    Optional<String> content = duplicates.flatMap(guard -> what.apply(guard.submission()));
    List<Charge> taken = new ArrayList<>(charges.size());
    Cost priced = Cost.ONE;
    int computed = 1;
    for (int i = 0; i < units.length; i++) {
      PlannedCharge planned = charges.get(i);
      int fixed = units[i];
      if (fixed == 0 && !planned.cost().equals(priced)) { // once for those of one annotation
        priced = planned.cost();
        computed = price.applyAsInt(priced.byArguments().orElseThrow());
      }
      taken.add(planned.charge(who.apply(planned.source()), fixed == 0 ? computed : fixed));
    }
    Optional<Charge> submission =
        duplicates.flatMap(guard -> submission(guard, taken, who, content));
    return taken.isEmpty() && submission.isEmpty()
        ? Optional.empty()
        : Optional.of(asked(new LimitRequest(policy, taken, submission)));
  }

  /** Whether its policy is only observed, so that it denies no call. */
  public boolean isObserved() {
    return !enforced;
  }

  /** This request as the store is asked. */
  LimitRequest asked(LimitRequest request) {
    return enforced ? request : request.observe();
  }

  /** The key of the submitter; its hash is known already where a rule counts the same subject. */
  private StateKey submitter(
      DuplicateGuard guard, List<Charge> taken, Function<SubjectSource, Subject> who) {
    for (int i = 0; i < charges.size(); i++) {
      if (charges.get(i).limit().equals(guard.limit())
          && charges.get(i).source().equals(guard.submitter())) {
        return taken.get(i).key();
      }
    }
    return StateKey.of(guard.limit(), who.apply(guard.submitter()));
  }

  /**
   * The submitter is looked up even if there is nothing to submit: it may be missing, which is an
   * error.
   */
  private Optional<Charge> submission(
      DuplicateGuard guard,
      List<Charge> taken,
      Function<SubjectSource, Subject> who,
      Optional<String> content) {
    StateKey submitter = submitter(guard, taken, who);
    return content.map(text -> guard.charge(submitter, method, text));
  }

  /** The text of the annotations for a denied call; a ban has none. */
  public DenialText text(Verdict verdict) {
    return texts.isEmpty() && duplicates.isEmpty()
        ? DenialText.NONE
        : DenialPlan.text(verdict, texts, duplicates);
  }
}
