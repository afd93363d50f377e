// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import io.limiter.micronaut.config.LimitKeys;
import io.limiter.micronaut.config.LimitSettings;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.subject.CallerLists;
import io.limiter.micronaut.subject.TierLookup;
import io.micronaut.http.HttpRequest;
import jakarta.inject.Singleton;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Selects the part of a plan that applies to a call, unless the plan is {@linkplain
 * LimitPlan#isSameForAll the same for all}: by the caller's tier and exemption, and by the
 * conditions of the policies.
 */
@Singleton
final class CallerPlans {

  private static final Logger LOG = LoggerFactory.getLogger(CallerPlans.class);

  /** The most names of unknown tiers that are logged. */
  private static final int MAX_UNKNOWN = 16;

  private final Set<String> unknown = ConcurrentHashMap.newKeySet();
  private final AtomicInteger warned = new AtomicInteger();
  private final AtomicBoolean hinted = new AtomicBoolean();
  private final PoliciesConfiguration settings;
  private final CallerLists lists;
  private final @Nullable TierLookup tiers;

  CallerPlans(PoliciesConfiguration settings, CallerLists lists, @Nullable TierLookup tiers) {
    this.settings = settings;
    this.lists = lists;
    this.tiers = tiers;
  }

  /**
   * The plan for the tier of a caller.
   *
   * @param request empty for a call outside of any request, which has the default tier
   * @return done, unless the tier must be looked up; it completes on any thread, and never fails
   */
  CompletableFuture<LimitPlan> inTier(LimitPlan plan, Optional<HttpRequest<?>> request) {
    if (!plan.isTiered() || plan.beforeSecurity()) {
      return CompletableFuture.completedFuture(plan);
    }
    CompletableFuture<Optional<String>> tier =
        request.isPresent() && tiers != null ? tiers.of(request.get()) : TierLookup.USUAL;
    if (tier == TierLookup.USUAL && request.isPresent() && tiers != null) {
      hintAtCaller(plan);
    }
    return tier.thenApply(name -> plan(plan, name));
  }

  /** The default method names callers by their principal, which a caller with a key lacks. */
  private void hintAtCaller(LimitPlan plan) {
    Optional<String> header = hinted.get() ? Optional.empty() : plan.countedHeader();
    if (header.isPresent() && hinted.compareAndSet(false, true)) {
      LOG.info(
          "{} counts the header {} and differs by tier, but Tiers.caller returned no name for the caller of a request, so the default tier applied. Override Tiers.caller to name callers by that header, if it is verified. Further such requests are not logged",
          plan.method(),
          header.get());
    }
  }

  private LimitPlan plan(LimitPlan plan, Optional<String> tier) {
    LimitSettings known = settings.current();
    if (tier.isPresent() && known.isTier(tier.get())) {
      return plan.inTier(tier.get());
    }
    tier.ifPresent(name -> warnOfUnknown(name, known));
    return known.usualTier().map(plan::inTier).orElse(plan);
  }

  private void warnOfUnknown(String tier, LimitSettings known) {
    if (warned.get() > MAX_UNKNOWN || !unknown.add(tier)) {
      return;
    }
    int number = warned.incrementAndGet();
    if (number <= MAX_UNKNOWN) {
      LOG.warn(
          "A caller has the tier '{}', which {} does not have: the default tier applies. It has {}",
          tier,
          LimitKeys.TIERS,
          String.join(", ", known.tiers()));
    } else if (number == MAX_UNKNOWN + 1) {
      LOG.warn("Callers have more than {} unknown tiers: the others are not logged", MAX_UNKNOWN);
    }
  }

  /**
   * The part of a plan that applies to a call: for an exempt caller the duplicate guard, else what
   * the conditions select. Runs code of the application.
   *
   * @param plan that for the tier of the caller
   */
  LimitPlan part(LimitPlan plan, ArrivingCall<?> call) {
    boolean exempt = call.request().isPresent() && lists.isExempt(call.request().get());
    LimitPlan own = exempt ? plan.ofExempt() : plan;
    return own.conditions().isEmpty() ? own : own.where(condition -> condition.limits(call));
  }
}
