// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.management;

import io.limiter.core.LimitRequest;
import io.limiter.core.StateKey;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.call.AdmissionControl.DenialListener;
import io.limiter.micronaut.config.LimiterConfiguration.ManagementConfiguration;
import io.limiter.micronaut.event.DeniedPart;
import io.limiter.micronaut.event.SubjectDigest;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.PlannedCharge;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Who is denied most by this instance: up to {@value #SIZE} subjects of each policy. A denial costs
 * an increment, or taking over a counter. Digests are computed when somebody asks.
 */
@Singleton
@Requires(beans = LimitsEndpoint.class)
final class TopTalkers implements DenialListener {

  /** The most subjects of a policy, and of an answer. */
  static final int SIZE = 100;

  /** The most policies; denials of further ones are not collected. */
  private static final int MAX_POLICIES = 1_000;

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

  private final SubjectDigest digest;
  private final boolean showSubjects;
  private final Map<String, SpaceSaving<Talker>> policies = new ConcurrentHashMap<>();
  private volatile Instant since = Instant.now();

  TopTalkers(SubjectDigest digest, ManagementConfiguration management) {
    this.digest = digest;
    this.showSubjects = management.isShowSubjects();
  }

  @Override
  public void denied(
      LimitPlan plan, LimitRequest asked, Verdict verdict, Function<SubjectSource, Subject> who) {
    SpaceSaving<Talker> talkers = of(plan.policy().name());
    if (talkers == null) {
      return;
    }
    DeniedPart part = DeniedPart.of(asked, verdict);
    String tag = part.charge().key().tag();
    if (!talkers.hit(tag)) {
      talkers.miss(tag, talker(plan, part, who));
    }
  }

  private @Nullable SpaceSaving<Talker> of(String policy) {
    SpaceSaving<Talker> known = policies.get(policy);
    return known != null || policies.size() >= MAX_POLICIES
        ? known
        : policies.computeIfAbsent(policy, any -> new SpaceSaving<>(SIZE));
  }

  private Talker talker(LimitPlan plan, DeniedPart part, Function<SubjectSource, Subject> who) {
    boolean guard = part.index() >= plan.quotas().size();
    PlannedCharge quota = guard ? null : plan.quotas().get(part.index());
    SubjectSource source =
        quota == null ? plan.duplicates().orElseThrow().submitter() : quota.source();
    boolean anonymous =
        quota != null
            && !quota.rules().equals(quota.anonymousRules())
            && part.charge().stack().equals(quota.anonymousRules());
    return new Talker(
        plan.policy().name(),
        part.charge().key(),
        part.charge().limit(),
        source,
        anonymous,
        showSubjects ? clear(source, who) : Optional.empty());
  }

  /** A resolver is the application's, and may fail the second time. */
  private static Optional<String> clear(
      SubjectSource source, Function<SubjectSource, Subject> who) {
    try {
      Subject subject = who.apply(source);
      return Optional.of(LogThrottle.oneLine(subject.kind() + ' ' + subject.value(), MAX_CLEAR));
    } catch (RuntimeException unknown) {
      return Optional.empty();
    }
  }

  /** Since when denials are counted. */
  Instant since() {
    return since;
  }

  /**
   * The subjects that were denied most.
   *
   * @param policy that of the denials; empty for all
   */
  List<Map<String, Object>> top(Optional<String> policy) {
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
    return policy.isPresent()
        ? Stream.ofNullable(policies.get(policy.get()))
        : new ArrayList<>(policies.values()).stream();
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

  /** How many denials were counted. */
  long counted() {
    return estimates(Optional.empty()).mapToLong(SpaceSaving.Estimate::count).sum();
  }

  /** How many denials could not be counted, so that a subject may have as many more. */
  long skipped(Optional<String> policy) {
    return some(policy).mapToLong(SpaceSaving::skipped).sum();
  }

  /** The subject of a policy that has this digest; empty if it is not among the top talkers. */
  Optional<Talker> find(String policy, String text) {
    return estimates(Optional.of(policy))
        .map(SpaceSaving.Estimate::value)
        .filter(talker -> digest.of(talker.key()).equals(text))
        .findFirst();
  }

  /** Starts again, for all policies. */
  void clear() {
    since = Instant.now();
    policies.values().forEach(SpaceSaving::clear);
  }
}
