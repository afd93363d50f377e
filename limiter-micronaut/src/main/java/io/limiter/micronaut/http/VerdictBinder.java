// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.core.Verdict;
import io.limiter.micronaut.call.LimitedCall;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.PlanRegistry;
import io.limiter.micronaut.plan.VerdictParameter;
import io.micronaut.core.convert.ArgumentConversionContext;
import io.micronaut.core.type.Argument;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.bind.binders.TypedRequestArgumentBinder;
import jakarta.inject.Singleton;
import java.util.Optional;

/**
 * Lets a route have a parameter for the verdict on its call. Where the guard decides, which runs
 * after the arguments are bound, a placeholder is bound until then. A route without limits receives
 * a verdict that allows the call.
 */
@Singleton
final class VerdictBinder implements TypedRequestArgumentBinder<Verdict> {

  private final PlanRegistry plans;

  VerdictBinder(PlanRegistry plans) {
    this.plans = plans;
  }

  @Override
  public Argument<Verdict> argumentType() {
    return Argument.of(Verdict.class);
  }

  @Override
  public BindingResult<Verdict> bind(
      ArgumentConversionContext<Verdict> context, HttpRequest<?> request) {
    Optional<Verdict> verdict =
        LimitedCall.of(request)
            .map(LimitedCall::verdict)
            .or(() -> plans.ofRoute(request).map(LimitPlan::policy).map(Verdict::free))
            .or(() -> Optional.of(VerdictParameter.unlimited()));
    return () -> verdict;
  }
}
