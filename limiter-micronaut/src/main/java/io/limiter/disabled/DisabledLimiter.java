// SPDX-License-Identifier: Apache-2.0
package io.limiter.disabled;

import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Limiter;
import io.limiter.core.Mode;
import io.limiter.core.StateKey;
import io.limiter.core.Verdict;
import io.limiter.micronaut.plan.LimitPolicies;
import io.limiter.micronaut.plan.LimitedPolicy;
import io.limiter.micronaut.plan.VerdictParameter;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.convert.ArgumentConversionContext;
import io.micronaut.core.type.Argument;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.bind.binders.TypedRequestArgumentBinder;
import jakarta.inject.Singleton;
import java.util.Collection;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Provides a limiter that admits every call, and policies that limit nothing. */
@Factory
final class DisabledLimiter {

  @Singleton
  Limiter limiter() {
    return new Limiter(new Free());
  }

  @Singleton
  LimitPolicies policies() {
    return new NoPolicies();
  }

  /** Has no policies of its own: it returns one that limits nothing for every name. */
  private static final class NoPolicies implements LimitPolicies {

    @Override
    public LimitedPolicy get(String name) {
      return LimitedPolicy.unlimited(name);
    }

    @Override
    public Set<String> names() {
      return Set.of();
    }

    @Override
    public boolean refresh() {
      return true;
    }
  }

  /** Counts nothing and admits everything. */
  private static final class Free implements LimitStore {

    @Override
    public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
      return CompletableFuture.completedFuture(Verdict.free(request.policy()));
    }

    @Override
    public CompletionStage<Void> reset(Collection<StateKey> keys) {
      return CompletableFuture.completedFuture(null);
    }

    @Override
    public CompletionStage<Void> liftBans(Collection<StateKey> keys) {
      return CompletableFuture.completedFuture(null);
    }

    @Override
    public void close() {}
  }

  /**
   * Binds an admitted verdict to arguments of type {@link Verdict} while the limiter is disabled.
   */
  @Singleton
  @Requires(classes = HttpRequest.class)
  static final class UnlimitedVerdicts implements TypedRequestArgumentBinder<Verdict> {

    @Override
    public Argument<Verdict> argumentType() {
      return Argument.of(Verdict.class);
    }

    @Override
    public BindingResult<Verdict> bind(
        ArgumentConversionContext<Verdict> context, HttpRequest<?> request) {
      return () -> Optional.of(VerdictParameter.unlimited());
    }
  }
}
