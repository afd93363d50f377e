// SPDX-License-Identifier: Apache-2.0
package io.limiter.management;

import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.Outcome;
import io.limiter.core.StateKey;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.call.AdmissionControl.DenialListener;
import io.limiter.micronaut.call.AdmissionControl.VerdictListener;
import io.limiter.micronaut.call.ArrivingCall;
import io.limiter.micronaut.event.DeniedPart;
import io.limiter.micronaut.event.SubjectDigest;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.PlannedCharge;
import io.limiter.micronaut.plan.PolicyPlan;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * How this instance has decided the calls of each policy since it started, and who is denied most:
 * up to {@value #SIZE} subjects of each policy. A decision costs an increment; a denial one more,
 * or taking over a counter. Digests are computed on demand.
 */
@Singleton
@Requires(beans = LimitsEndpoint.class)
final class PolicyStatistics implements VerdictListener, DenialListener {

  /** The most subjects of a policy that are known, and of an answer. */
  static final int SIZE = 100;

  /** The most policies; decisions of further ones are not counted. */
  private static final int MAX_POLICIES = 1_000;

  /** The most trials of a policy: one for each change of its numbers, and for each tier. */
  private static final int MAX_TRIALS = 16;

  /** The most characters of a subject in clear. */
  private static final int MAX_CLEAR = 200;

  /**
   * A subject that was denied.
   *
   * @param key one of its state keys
   * @param limit the limit key under which it is counted
   * @param source where it comes from
   * @param anonymous whether the source did not identify it
   * @param clear its kind and value; empty unless these may be shown
   */
  record Talker(
      String policy,
      StateKey key,
      String limit,
      SubjectSource source,
      boolean anonymous,
      Optional<String> clear) {}

  /** The decisions of one policy. */
  private static final class Decisions {

    final Map<Outcome, LongAdder> outcomes = new EnumMap<>(Outcome.class);
    final LongAdder wouldDeny = new LongAdder();
    final Map<List<RuleStack>, Trial> trials = new ConcurrentHashMap<>();
    final SpaceSaving<Talker> talkers = new SpaceSaving<>(SIZE);

    Decisions() {
      for (Outcome outcome : Outcome.values()) {
        outcomes.put(outcome, new LongAdder());
      }
    }
  }

  /** What rules on trial would have denied of the calls that were admitted since a time. */
  private static final class Trial {

    final Instant since = Instant.now();
    final LongAdder admitted = new LongAdder();
    final LongAdder wouldDeny = new LongAdder();
  }

  private final SubjectDigest digest;
  private final boolean showSubjects;
  private final Map<String, Decisions> policies = new ConcurrentHashMap<>();
  private volatile Instant since = Instant.now();

  PolicyStatistics(SubjectDigest digest, ManagementConfiguration management) {
    this.digest = digest;
    this.showSubjects = management.showSubjects();
  }

  @Override
  public void decided(ArrivingCall<?> call, Verdict verdict) {
    LimitPlan plan = call.plan();
    if (verdict.decidedBy() == DecidedBy.NONE) {
      return;
    }
    for (PolicyPlan policy : verdict.allowed() ? plan.policies() : List.of(plan.denying(verdict))) {
      count(policy, verdict);
    }
    for (PolicyPlan policy : plan.observesSome() ? plan.policies() : List.<PolicyPlan>of()) {
      Decisions decisions = policy.observesSome() ? of(policy.name()) : null;
      if (decisions != null
          && (policy.wouldDeny(verdict).isPresent() || (plan.isObserved() && !verdict.allowed()))) {
        decisions.wouldDeny.increment();
      }
      if (decisions != null && (verdict.allowed() || plan.isObserved())) {
        countTrial(decisions, policy, verdict);
      }
    }
  }

  /** By the rules, so that others begin from zero. */
  private static void countTrial(Decisions decisions, PolicyPlan policy, Verdict verdict) {
    List<RuleStack> rules = policy.trial();
    Trial trial = rules.isEmpty() ? null : decisions.trials.get(rules);
    if (trial == null && !rules.isEmpty() && decisions.trials.size() < MAX_TRIALS) {
      trial = decisions.trials.computeIfAbsent(rules, any -> new Trial());
    }
    if (trial != null) {
      trial.admitted.increment();
      if (policy.wouldDenyOnTrial(verdict).isPresent()) {
        trial.wouldDeny.increment();
      }
    }
  }

  private void count(PolicyPlan policy, Verdict verdict) {
    Decisions decisions = of(policy.name());
    LongAdder outcome = decisions == null ? null : decisions.outcomes.get(verdict.outcome());
    if (outcome != null) {
      outcome.increment();
    }
  }

  @Override
  public void denied(ArrivingCall<?> call, LimitRequest asked, Verdict verdict) {
    Decisions policy = of(verdict.policy().name());
    if (policy == null) {
      return;
    }
    DeniedPart part = DeniedPart.of(asked, verdict);
    String tag = part.charge().key().tag();
    if (!policy.talkers.hit(tag)) {
      policy.talkers.miss(tag, talker(call, verdict.policy().name(), part));
    }
  }

  private @Nullable Decisions of(String policy) {
    Decisions known = policies.get(policy);
    return known != null || policies.size() >= MAX_POLICIES
        ? known
        : policies.computeIfAbsent(policy, any -> new Decisions());
  }

  private Talker talker(ArrivingCall<?> call, String policy, DeniedPart part) {
    LimitPlan plan = call.plan();
    boolean guard = part.index() >= plan.charges().size();
    PlannedCharge planned = guard ? null : plan.charges().get(part.index());
    SubjectSource source =
        planned == null ? plan.duplicates().orElseThrow().submitter() : planned.source();
    boolean anonymous =
        planned != null
            && !planned.rules().equals(planned.anonymousRules())
            && part.charge().stack().equals(planned.anonymousRules());
    return new Talker(
        policy,
        part.charge().key(),
        part.charge().limit(),
        source,
        anonymous,
        showSubjects ? clear(source, call) : Optional.empty());
  }

  /** A resolver is the application's, and may fail the second time. */
  private static Optional<String> clear(SubjectSource source, ArrivingCall<?> call) {
    try {
      Subject subject = call.subject(source);
      return Optional.of(LogThrottle.oneLine(subject.kind() + ' ' + subject.value(), MAX_CLEAR));
    } catch (Throwable unknown) {
      return Optional.empty();
    }
  }

  /** The number of decisions of each outcome, and of calls that an observed policy would deny. */
  Map<String, Object> decisions(String policy) {
    Decisions decisions = policies.getOrDefault(policy, new Decisions());
    Map<String, Object> view = new LinkedHashMap<>();
    decisions.outcomes.forEach(
        (outcome, count) -> view.put(outcome.name().toLowerCase(Locale.ROOT), count.sum()));
    view.put("wouldDeny", decisions.wouldDeny.sum());
    return view;
  }

  /** The trials of a policy on this instance, the latest first; none without. */
  List<Map<String, Object>> trials(String policy) {
    return policies.getOrDefault(policy, new Decisions()).trials.entrySet().stream()
        .sorted(
            Comparator.comparing((Map.Entry<?, Trial> each) -> each.getValue().since).reversed())
        .map(
            each ->
                LimitViews.trial(
                    each.getKey(),
                    each.getValue().since,
                    each.getValue().admitted.sum(),
                    each.getValue().wouldDeny.sum()))
        .toList();
  }

  /**
   * The subjects that were denied most, the time at which the count began, and the number of
   * denials that were skipped: a subject may have as many more.
   *
   * @param policy that of the denials; empty for all
   */
  Map<String, Object> talkers(Optional<String> policy) {
    Map<String, Object> view = new LinkedHashMap<>();
    view.put("since", since.toString());
    view.put("skipped", some(policy).mapToLong(SpaceSaving::skipped).sum());
    view.put("subjects", top(policy));
    return view;
  }

  private List<Map<String, Object>> top(Optional<String> policy) {
    return estimates(policy)
        .sorted(
            Comparator.<SpaceSaving.Estimate<Talker>>comparingLong(SpaceSaving.Estimate::count)
                .reversed())
        .limit(SIZE)
        .map(estimate -> view(estimate, policy.isEmpty()))
        .toList();
  }

  private Stream<SpaceSaving.Estimate<Talker>> estimates(Optional<String> policy) {
    return some(policy).flatMap(talkers -> talkers.top().stream());
  }

  private Stream<SpaceSaving<Talker>> some(Optional<String> policy) {
    Stream<Decisions> decisions =
        policy.isPresent()
            ? Stream.ofNullable(policies.get(policy.get()))
            : new ArrayList<>(policies.values()).stream();
    return decisions.map(each -> each.talkers);
  }

  private Map<String, Object> view(SpaceSaving.Estimate<Talker> estimate, boolean named) {
    Map<String, Object> view = new LinkedHashMap<>();
    if (named) {
      view.put("policy", estimate.value().policy());
    }
    view.put("subject", digest.of(estimate.value().key()));
    estimate.value().clear().ifPresent(clear -> view.put("clear", clear));
    view.put("countedBy", estimate.value().source().written());
    view.put("denied", estimate.count());
    view.put("error", estimate.error());
    return view;
  }

  /** How many denials are counted. */
  long denials() {
    return estimates(Optional.empty()).mapToLong(SpaceSaving.Estimate::count).sum();
  }

  /** The subject of a policy that has this digest; empty if it is not among the top talkers. */
  Optional<Talker> find(String policy, String text) {
    return estimates(Optional.of(policy))
        .map(SpaceSaving.Estimate::value)
        .filter(talker -> digest.of(talker.key()).equals(text))
        .findFirst();
  }

  /** Resets the counts of denied subjects for all policies. */
  void forgetTalkers() {
    since = Instant.now();
    policies.values().forEach(policy -> policy.talkers.clear());
  }
}
