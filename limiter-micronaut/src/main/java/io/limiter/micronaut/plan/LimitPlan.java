// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.RuleVerdict;
import io.limiter.core.StateKey;
import io.limiter.core.Verdict;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.util.BoundedCache;
import io.limiter.micronaut.definition.CallExpression;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.plan.PlannedCharge.Cost;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.util.SupplierUtil;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * How one method is limited: a list of policies, which are decided together, and each of which
 * keeps its own treatment. Made once for each method, and never changed.
 */
@Internal
public final class LimitPlan {

  /** Why a limit that counts only what clients choose may not hold. */
  public static final String COUNTED_BY_CHOICE =
      "a client can evade the limit by sending another value with each call, unless the value is verified elsewhere. An additional rule with limitType = IP or GLOBAL prevents that";

  /** Of one plan. */
  private static final int MAX_PARTS = 64;

  private final Method method;
  private final List<PolicyPlan> policies;
  private final boolean exempts;

  // What follows from the policies.
  private final List<PlannedCharge> charges;
  private final int[] units; // of each charge; 0 if the arguments of a call determine them
  private final Optional<DuplicateGuard> duplicates;
  private final Policy policy;
  private final Map<String, PolicyPlan> byRule = new HashMap<>();
  private final CompletionPlan outcomes;
  private final boolean observed;
  private final boolean observesSome;
  private final boolean warns;
  private final Set<String> trial; // the names of rules on trial
  private final boolean waits;
  private final boolean countsByCompletion;
  private final @Nullable Split split;
  private volatile @Nullable Object attached;

  // Its parts: of callers of a tier, of calls that some conditions do not select, of exempt
  // callers.
  private final Map<String, LimitPlan> tiers = new HashMap<>();
  private final BoundedCache<Set<Condition>, LimitPlan> parts =
      new BoundedCache<>(MAX_PARTS, this::without);
  private final BoundedCache<LimitPlan, Policy> joined =
      new BoundedCache<>(MAX_PARTS, later -> policy().and(later.policy()));
  private final Supplier<LimitPlan> ofExempt =
      SupplierUtil.memoized(
          () -> charges().isEmpty() ? this : part(PolicyPlan::withoutRules, false));

  /**
   * What a plan and its parts have in common.
   *
   * @param description the method's class, name and parameter types
   * @param guarded whether the method is guarded; without, the gate alone limits a route
   * @param takesVerdict whether the method has a parameter for the verdict
   * @param conditions that select the part that applies to a call; each once
   * @param countsUsers whether something counts the user who is logged in
   * @param beforeSecurity whether the gate decides before security
   * @param late what it needs that the gate does not have, in words; null if the head of the
   *     request alone decides
   * @param head the positions of arguments that its expressions need, if the head decides
   * @param early whether it is the {@link Split#early} part of a plan
   */
  private record Method(
      String description,
      boolean guarded,
      boolean takesVerdict,
      List<Condition> conditions,
      boolean countsUsers,
      boolean beforeSecurity,
      @Nullable String late,
      List<Integer> head,
      boolean early) {

    static Method of(
        String description,
        boolean guarded,
        boolean takesVerdict,
        List<PolicyPlan> policies,
        boolean early) {
      Set<Condition> conditions = new LinkedHashSet<>();
      boolean countsUsers = false;
      boolean beforeSecurity = false;
      String late = null;
      Set<Integer> head = new TreeSet<>();
      for (PolicyPlan each : policies) {
        for (Condition condition : each.conditions()) {
          conditions.add(condition);
        }
        for (SubjectSource source : each.sources()) {
          countsUsers |= source.kind() == SubjectSource.Kind.USER;
        }
        beforeSecurity |= each.beforeSecurity().isPresent();
        if (each.comparesArguments()) {
          late = "duplicates are found by arguments";
        }
        for (CallExpression expression : each.expressions()) {
          if (expression.needsArguments()) {
            late = "the head of a request does not determine " + expression;
          }
          expression.head().ifPresent(head::addAll);
        }
      }
      return new Method(
          description,
          guarded,
          takesVerdict,
          List.copyOf(conditions),
          countsUsers,
          beforeSecurity,
          late,
          List.copyOf(head),
          early);
    }

    boolean decidedByRequest() {
      return late == null;
    }
  }

  /**
   * The two decisions on a call of a plan that needs arguments, some of whose rules are decided
   * before these are bound.
   *
   * @param early the rules that the gate decides
   * @param late what the guard decides then
   */
  private record Split(LimitPlan early, LimitPlan late) {

    /** Null if no policy asks for it, or nothing would be left for the guard. */
    static @Nullable Split of(Method method, List<PolicyPlan> policies, boolean exempts) {
      if ((method.decidedByRequest() && method.head().isEmpty()) || method.takesVerdict()) {
        return null;
      }
      List<PolicyPlan> named = namedApartInTiers(policies);
      List<PolicyPlan> early = named.stream().map(PolicyPlan::earlyPart).toList();
      List<PolicyPlan> late = named.stream().map(PolicyPlan::latePart).toList();
      return early.stream().allMatch(PolicyPlan::isEmpty)
              || late.stream().allMatch(PolicyPlan::isEmpty)
          ? null
          : new Split(part(method, early, exempts, true), part(method, late, exempts, false));
    }

    /** A rule of one part must not have the name of a rule of the other, in no tier. */
    private static List<PolicyPlan> namedApartInTiers(List<PolicyPlan> policies) {
      List<PolicyPlan> named = new ArrayList<>(policies);
      policies.stream()
          .flatMap(each -> each.tiers().keySet().stream())
          .distinct()
          .forEach(
              tier -> {
                List<PolicyPlan> there =
                    distinct(policies.stream().map(each -> each.inTier(tier)).toList());
                named.replaceAll(each -> each.withTier(tier, there));
              });
      return named;
    }

    /** Without what is empty for callers of all tiers. */
    private static LimitPlan part(
        Method method, List<PolicyPlan> policies, boolean exempts, boolean early) {
      List<PolicyPlan> some =
          policies.stream()
              .filter(
                  each ->
                      !each.isEmpty()
                          || !each.tiers().values().stream().allMatch(PolicyPlan::isEmpty))
              .toList();
      return new LimitPlan(
          Method.of(method.description(), method.guarded(), false, some, early),
          some,
          exempts,
          null);
    }
  }

  /**
   * @param whole the plan of which this is a part; null if it is none
   */
  private LimitPlan(
      Method method, List<PolicyPlan> policies, boolean exempts, @Nullable LimitPlan whole) {
    this.method = method;
    this.policies = policies;
    this.exempts = exempts;
    // Loops, since the start may make thousands of plans, and streams took half of its time.
    List<PlannedCharge> all = new ArrayList<>();
    Optional<DuplicateGuard> guards = Optional.empty();
    Set<String> onTrial = new HashSet<>();
    boolean enforces = false;
    boolean observes = false;
    for (PolicyPlan each : policies) {
      all.addAll(each.charges());
      guards = guards.isPresent() ? guards : each.duplicates();
      each.ruleNames().forEach(rule -> byRule.put(rule, each));
      onTrial.addAll(each.trialNames());
      enforces |= !each.observed() && !each.isEmpty();
      observes |= each.observesSome();
    }
    this.charges = List.copyOf(all);
    this.units = new int[charges.size()];
    boolean near = false;
    for (int i = 0; i < units.length; i++) {
      PlannedCharge planned = charges.get(i);
      units[i] = planned.units();
      near |= planned.rules().warnAt() > 0 || planned.anonymousRules().warnAt() > 0;
    }
    this.warns = near;
    this.trial = Set.copyOf(onTrial);
    this.observed = !enforces;
    this.observesSome = observes;
    this.duplicates = guards;
    this.policy =
        whole != null && charges.isEmpty() && duplicates.isEmpty()
            ? whole.policy // nothing is charged by it
            : policyOf(policies);
    this.outcomes = CompletionPlan.of(policies);
    for (PolicyPlan each : policies) {
      for (String tier : each.tiers().keySet()) {
        if (!tiers.containsKey(tier)) {
          tiers.put(tier, part(there -> there.inTier(tier).withTiers(Map.of()), exempts));
        }
      }
    }
    this.waits = outcomes.waits() || tiers.values().stream().anyMatch(LimitPlan::waits);
    this.countsByCompletion =
        outcomes.decide()
            || duplicates.isPresent()
            || tiers.values().stream().anyMatch(LimitPlan::countsByCompletion);
    this.split = whole == null ? Split.of(method, policies, exempts) : null;
  }

  /**
   * The plan of a method.
   *
   * @param method the method's class, name and parameter types
   * @param policies one or more, nearest to the method first
   * @param guarded whether the method is guarded; without, the gate alone limits a route
   * @param takesVerdict whether the method has a parameter for the verdict
   * @param exempts whether there are callers without limits
   */
  public static LimitPlan of(
      String method,
      List<PolicyPlan> policies,
      boolean guarded,
      boolean takesVerdict,
      boolean exempts) {
    MethodChecks.requireEarlyRules(policies);
    List<PolicyPlan> distinct = distinct(policies);
    Method described = Method.of(method, guarded, takesVerdict, distinct, false);
    return new LimitPlan(described, distinct, exempts, null);
  }

  private static List<PolicyPlan> distinct(List<PolicyPlan> policies) {
    Set<String> names = new HashSet<>();
    List<PolicyPlan> distinct = new ArrayList<>();
    policies.forEach(each -> distinct.add(each.withDistinctNames(names)));
    return List.copyOf(distinct);
  }

  /** Observed policies decide nothing, so the store is asked as the others configure it. */
  private static Policy policyOf(List<PolicyPlan> policies) {
    List<String> deciding = new ArrayList<>();
    List<String> enforced = new ArrayList<>();
    List<RuleStack> all = new ArrayList<>();
    List<RuleStack> stated = new ArrayList<>();
    Optional<String> limit = Optional.empty();
    Optional<DuplicateGuard> duplicates = Optional.empty();
    Map<String, String> codeNames = new HashMap<>();
    for (PolicyPlan each : policies) {
      codeNames.putAll(each.otherNames());
      if (each.isEmpty()) {
        continue;
      }
      deciding.add(each.name());
      if (!each.observed()) {
        enforced.add(each.name());
      }
      duplicates = duplicates.isPresent() ? duplicates : each.duplicates();
      for (PlannedCharge planned : each.charges()) {
        limit = limit.isPresent() ? limit : Optional.of(planned.limit());
        all.add(planned.rules());
        if (!planned.trial()) {
          stated.add(planned.rules());
        }
      }
    }
    return new Policy(
        policies.get(0).name(),
        limit.isPresent() ? limit.get() : duplicates.orElseThrow().limit(),
        stated.isEmpty() && duplicates.isEmpty() ? all : stated,
        duplicates.map(DuplicateGuard::stack),
        enforced.isEmpty() ? deciding : enforced,
        codeNames,
        List.of());
  }

  /** Whether it holds for all callers and all calls, so that no part of it needs to be selected. */
  public boolean isSameForAll() {
    return conditions().isEmpty() && tiers.isEmpty() && !exempts;
  }

  /** Whether the tier of a caller makes a difference. */
  public boolean isTiered() {
    return !tiers.isEmpty();
  }

  /** The plan for callers of a tier: this one unless a policy differs there. */
  public LimitPlan inTier(String tier) {
    return tiers.getOrDefault(tier, this);
  }

  /** The conditions that select the part of this plan that applies to a call; each once. */
  public List<Condition> conditions() {
    return method.conditions();
  }

  /** The plan for a call that some conditions select. */
  public LimitPlan where(Predicate<Condition> limits) {
    Set<Condition> not = new HashSet<>();
    for (Condition condition : conditions()) {
      if (!limits.test(condition)) {
        not.add(condition);
      }
    }
    return not.isEmpty() ? this : parts.get(not);
  }

  /** The plan for a call that these conditions do not select. */
  private LimitPlan without(Set<Condition> not) {
    return part(each -> each.where(condition -> condition.filter(not::contains).isEmpty()), false);
  }

  /** The plan for an exempt caller: only duplicates are denied. */
  public LimitPlan ofExempt() {
    return ofExempt.get();
  }

  private LimitPlan part(Function<PolicyPlan, PolicyPlan> change, boolean someExempt) {
    return new LimitPlan(
        method, distinct(policies.stream().map(change).toList()), someExempt, this);
  }

  /**
   * Returns a plan that decides the calls of this method by this plan and another one.
   *
   * @param other of no method
   */
  LimitPlan and(LimitPlan other) {
    return of(
        method(),
        Stream.concat(policies.stream(), other.policies.stream()).toList(),
        isGuarded() || other.isGuarded(),
        takesVerdict(),
        exempts || other.exempts);
  }

  /** Whether it cannot be combined with every other plan. */
  boolean isExclusive() {
    return duplicates.isPresent() || beforeSecurity() || waits || countsUsers() || asksForEarly();
  }

  /** Why it cannot be decided together with another plan; empty if it can. */
  Optional<String> obstacle(LimitPlan other) {
    if (duplicates.isPresent() && other.duplicates.isPresent()) {
      return Optional.of("both have a duplicate guard, but one call is one submission");
    }
    if ((beforeSecurity() && other.countsUsers()) || (other.beforeSecurity() && countsUsers())) {
      return Optional.of(
          "one is decided before security and the other counts the user, who is known only after it");
    }
    if ((beforeSecurity() && !other.decidedByRequest())
        || (other.beforeSecurity() && !decidedByRequest())) {
      return Optional.of(
          "one is decided before security and the other needs arguments that are bound after it");
    }
    if (((asksForEarly() && other.takesVerdict()) || (other.asksForEarly() && takesVerdict()))
        && !(decidedByRequest() && other.decidedByRequest())) {
      return Optional.of(
          "one is early and the other has a parameter for the verdict, which is one decision");
    }
    return waits && other.waits
        ? Optional.of("a call can wait under one rule only")
        : Optional.empty();
  }

  private boolean asksForEarly() {
    return policies.stream().anyMatch(policy -> policy.early().isPresent());
  }

  /** The method's class, name and parameter types; of no method, the name of its policy. */
  public String method() {
    return method.description();
  }

  /** Its policies, nearest to the method first. */
  public List<PolicyPlan> policies() {
    return policies;
  }

  /**
   * The policy of the verdicts on its calls: the name of the first one, and all rules, as they are
   * for callers that the source of their subject identifies.
   */
  public Policy policy() {
    return policy;
  }

  public List<PlannedCharge> charges() {
    return charges;
  }

  public Optional<DuplicateGuard> duplicates() {
    return duplicates;
  }

  /**
   * Whether the method is guarded, so that a call that the gate has admitted is taken over where
   * the method begins. If not, only its response shows how it ends.
   */
  public boolean isGuarded() {
    return method.guarded();
  }

  /** The effects of the end of its calls. */
  public CompletionPlan outcomes() {
    return outcomes;
  }

  /**
   * Whether the head of the request alone decides, so that the gate can, before the body is read.
   */
  public boolean decidedByRequest() {
    return method.decidedByRequest();
  }

  /**
   * Where its calls are decided, in words: in the gate, before the body is read, or in the guard,
   * which has all arguments of the method, and then why. Outside of requests the guard decides all.
   */
  public String place() {
    if (method.late() == null) {
      return head().isEmpty() ? "gate" : "gate, which binds the arguments that expressions need";
    }
    return (split == null
            ? "guard, since "
            : "early policies in the gate, others in the guard, since ")
        + method.late();
  }

  /** The positions of the arguments of its expressions, which the gate binds to decide. */
  public List<Integer> head() {
    return method.head();
  }

  /**
   * What the gate decides: the whole if the head of the request alone decides, or the policies that
   * ask for an early decision; null if it decides nothing.
   */
  public @Nullable LimitPlan gatePart() {
    if (decidedByRequest()) {
      return this;
    }
    return split == null ? null : split.early();
  }

  /**
   * What the gate decides of a request that lacks arguments of the head: the policies that ask for
   * an early decision; null if there are none.
   */
  public @Nullable LimitPlan withoutArguments() {
    return split == null ? null : split.early();
  }

  /** Its policy and that of the later decision on the same calls. */
  public Policy policyWith(LimitPlan later) {
    return joined.get(later);
  }

  /** What the guard decides once the gate has decided {@link #gatePart} and admitted the call. */
  public LimitPlan behindGate() {
    return split == null ? this : split.late();
  }

  /** Whether it is the early decision on calls whose other limits need the arguments. */
  public boolean isEarly() {
    return method.early();
  }

  /** Whether it, or what it is a part of, is the early decision on the calls of another plan. */
  public boolean isEarlyPartOf(LimitPlan other) {
    return other.split != null && method.equals(other.split.early().method);
  }

  /** Whether a rule, or the duplicate guard, counts the user who is logged in, by USER_ID. */
  public boolean countsUsers() {
    return method.countsUsers();
  }

  /** A header that one of its rules counts by. */
  public Optional<String> countedHeader() {
    return charges.stream()
        .map(PlannedCharge::source)
        .filter(source -> source.kind() == SubjectSource.Kind.HEADER)
        .map(source -> ((SubjectSource.Header) source).name())
        .findFirst();
  }

  /** Whether it has rules, and all of them count what clients choose freely. */
  public boolean isCountedByChoice() {
    return !charges.isEmpty() && charges.stream().allMatch(planned -> planned.source().isChosen());
  }

  /** Whether a rule counts calls that are answered with this status, as failures it names. */
  boolean countsFailures(int status) {
    return policies.stream().anyMatch(policy -> policy.countsFailures(status));
  }

  /** Whether the gate decides before security, so that security does not see denied requests. */
  public boolean beforeSecurity() {
    return method.beforeSecurity();
  }

  /**
   * Whether the completion of a call matters, or the departure of its caller while it waits; of a
   * plan with tiers, in one of them.
   */
  public boolean countsByCompletion() {
    return countsByCompletion;
  }

  /**
   * Whether the limiter has nothing to do for a call once the gate has admitted it: neither its
   * completion nor its arguments matter.
   */
  public boolean endsAtGate() {
    return !countsByCompletion && !waits && !takesVerdict() && split == null;
  }

  /** The policy of one of its rules. */
  public PolicyPlan policyOf(Rule rule) {
    return byRule.getOrDefault(rule.name(), policies.get(0));
  }

  /** Whether a rule warns when a subject comes near its limit. */
  public boolean warns() {
    return warns;
  }

  /** Whether a call may have to wait for its turn; of a plan with tiers, in one of them. */
  public boolean waits() {
    return waits;
  }

  /** Whether the method has a parameter for the verdict. */
  public boolean takesVerdict() {
    return method.takesVerdict();
  }

  /** Whether all its policies are only observed, so that it denies no call. */
  public boolean isObserved() {
    return observed;
  }

  /** Whether some of its rules are only observed, or on trial. */
  public boolean observesSome() {
    return observesSome;
  }

  /** Whether a call may enter the method on this verdict. */
  public boolean admits(Verdict verdict) {
    if (observesSome) {
      for (PolicyPlan each : policies) {
        if (each.observesSome()
            && (each.wouldDeny(verdict).isPresent() || (observed && !verdict.allowed()))) {
          each.logObserved();
        }
      }
    }
    return observed || verdict.allowed() || takesVerdict();
  }

  /** The verdict without the rules on trial, which neither the method nor its caller sees. */
  public Verdict stated(Verdict verdict) {
    return trial.isEmpty()
        ? verdict
        : verdict.withRules(new VisibleRules(verdict), verdict.reservation());
  }

  private final class VisibleRules implements Verdict.LazyRules {

    private final Verdict whole;

    VisibleRules(Verdict whole) {
      this.whole = whole;
    }

    @Override
    public List<RuleVerdict> rules() {
      return whole.rules().stream().filter(rule -> !trial.contains(rule.rule().name())).toList();
    }

    @Override
    public Optional<RuleVerdict> duplicate() {
      return whole.duplicate();
    }
  }

  /**
   * The verdict under the policy that denies the call, of several the one with the longest
   * retry-after; unchanged if the call is admitted.
   */
  public Verdict named(Verdict verdict) {
    if (policies.size() == 1 || verdict.allowed()) {
      return verdict;
    }
    String name = denying(verdict).name();
    return name.equals(policy.name())
        ? verdict
        : verdict.withPolicy(verdict.policy().withName(name));
  }

  /** The policy that denies a call; the first enforced one where none does by itself. */
  public PolicyPlan denying(Verdict verdict) {
    if (verdict.outcome() == Outcome.DUPLICATE) {
      for (PolicyPlan each : policies) {
        if (each.duplicates().isPresent()) {
          return each;
        }
      }
    }
    boolean banned = verdict.outcome() == Outcome.BANNED;
    Optional<PolicyPlan> byRules =
        verdict
            .denying()
            .map(RuleVerdict::rule)
            .map(rule -> byRule.get(rule.name()))
            .filter(each -> !banned || each.bans());
    return byRules.orElseGet(
        () ->
            policies.stream()
                .filter(each -> !each.observed() && !each.isEmpty())
                .filter(each -> !banned || each.bans())
                .findFirst()
                .orElse(policies.get(0)));
  }

  /** The text for a denied call, as its policy has it; a ban has none. */
  public DenialText text(Verdict verdict) {
    return switch (verdict.outcome()) {
      case BANNED -> DenialText.NONE;
      case DUPLICATE -> duplicates.map(DuplicateGuard::text).orElse(DenialText.NONE);
      default -> {
        String rule = verdict.denying().map(longest -> longest.rule().name()).orElse("");
        PolicyPlan denying = byRule.get(rule);
        yield denying == null
            ? DenialText.NONE
            : denying.texts().getOrDefault(rule, DenialText.NONE);
      }
    };
  }

  /** The request to the store for one call; empty if the call is charged nothing. */
  public Optional<LimitRequest> request(CallValues call) {
    Optional<String> content = duplicates.flatMap(guarding -> guarding.submission().content(call));
    Charge[] each = new Charge[units.length];
    Cost priced = Cost.ONE;
    int computed = 1;
    for (int i = 0; i < units.length; i++) {
      PlannedCharge planned = charges.get(i);
      int fixed = units[i];
      if (fixed == 0 && !planned.cost().equals(priced)) { // once for those of one annotation
        priced = planned.cost();
        computed = call.units(priced.byArguments().orElseThrow());
      }
      each[i] = planned.charge(call, fixed == 0 ? computed : fixed);
    }
    List<Charge> taken = List.of(each);
    Optional<Charge> submission =
        duplicates.flatMap(guarding -> submission(guarding, taken, call, content));
    return taken.isEmpty() && submission.isEmpty()
        ? Optional.empty()
        : Optional.of(new LimitRequest(policy, taken, submission));
  }

  /**
   * The submitter is looked up even if there is nothing to submit: it may be missing, which is an
   * error. Its hash is known already where a rule counts the same subject.
   */
  private Optional<Charge> submission(
      DuplicateGuard guarding, List<Charge> taken, CallValues call, Optional<String> content) {
    StateKey submitter = null;
    for (int i = 0; i < charges.size() && submitter == null; i++) {
      if (charges.get(i).limit().equals(guarding.limit())
          && charges.get(i).source().equals(guarding.submitter())) {
        submitter = taken.get(i).key();
      }
    }
    StateKey key =
        submitter == null
            ? StateKey.of(guarding.limit(), call.subject(guarding.submitter()))
            : submitter;
    return content.map(text -> guarding.charge(key, method(), text));
  }

  /**
   * What serves its calls beside their decision: found once, and kept with it.
   *
   * @param find always the same
   */
  @SuppressWarnings("unchecked")
  public <T> T attached(Function<LimitPlan, T> find) {
    Object found = attached;
    if (found == null) {
      found = find.apply(this);
      attached = found;
    }
    return (T) found;
  }

  @Override
  public String toString() {
    return method()
        + policies.stream().map(PolicyPlan::name).collect(Collectors.joining(", ", " [", "]"));
  }
}
