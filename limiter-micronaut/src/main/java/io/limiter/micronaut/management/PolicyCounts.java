// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.management;

import io.limiter.core.DecidedBy;
import io.limiter.core.Outcome;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.limiter.micronaut.call.AdmissionControl.VerdictListener;
import io.limiter.micronaut.plan.LimitPlan;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.propagation.PropagatedContext;
import jakarta.inject.Singleton;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/** How this instance has decided the calls of each policy since it started. */
@Singleton
@Requires(beans = LimitsEndpoint.class)
final class PolicyCounts implements VerdictListener {

  /** The most policies; decisions of further ones are not counted. */
  private static final int MAX_POLICIES = 1_000;

  /** The decisions of one policy. */
  private static final class Counts {

    final Map<Outcome, LongAdder> outcomes = new EnumMap<>(Outcome.class);
    final LongAdder wouldDeny = new LongAdder();

    Counts() {
      for (Outcome outcome : Outcome.values()) {
        outcomes.put(outcome, new LongAdder());
      }
    }
  }

  private final Map<String, Counts> policies = new ConcurrentHashMap<>();

  @Override
  public void decided(LimitPlan plan, Verdict verdict, PropagatedContext context) {
    Counts counts = verdict.decidedBy() == DecidedBy.NONE ? null : counts(verdict.policy().name());
    if (counts == null) {
      return;
    }
    LongAdder outcome = counts.outcomes.get(verdict.outcome());
    if (outcome != null) {
      outcome.increment();
    }
    if (plan.isObserved() && wouldDeny(verdict)) {
      counts.wouldDeny.increment();
    }
  }

  private @Nullable Counts counts(String policy) {
    Counts known = policies.get(policy);
    return known != null || policies.size() >= MAX_POLICIES
        ? known
        : policies.computeIfAbsent(policy, any -> new Counts());
  }

  private static boolean wouldDeny(Verdict verdict) {
    return !verdict.allowed()
        || verdict.rules().stream().anyMatch(RuleVerdict::violated)
        || verdict.duplicate().filter(RuleVerdict::violated).isPresent();
  }

  /** The number of decisions of each outcome, and of calls that an observed policy would deny. */
  Map<String, Object> view(String policy) {
    Counts counts = policies.getOrDefault(policy, new Counts());
    Map<String, Object> view = new LinkedHashMap<>();
    counts.outcomes.forEach(
        (outcome, count) -> view.put(outcome.name().toLowerCase(Locale.ROOT), count.sum()));
    view.put("wouldDeny", counts.wouldDeny.sum());
    return view;
  }
}
