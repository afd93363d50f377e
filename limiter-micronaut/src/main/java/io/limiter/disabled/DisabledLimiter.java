// SPDX-License-Identifier: Apache-2.0
package io.limiter.disabled;

import io.limiter.core.LimitRequest;
import io.limiter.core.Limiter;
import io.limiter.core.StateKey;
import io.limiter.core.Verdict;
import io.limiter.core.store.LimitStore;
import io.limiter.core.store.Mode;
import io.micronaut.context.annotation.Factory;
import jakarta.inject.Singleton;
import java.util.Collection;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Provides a limiter that admits every call. */
@Factory
final class DisabledLimiter {

  @Singleton
  Limiter limiter() {
    return new Limiter(new Free());
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
    public void close() {}
  }
}
