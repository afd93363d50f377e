// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.StateKey;
import io.limiter.core.Verdict;
import io.limiter.core.store.KnownUse;
import io.limiter.core.store.LimitStore;
import io.limiter.core.store.Mode;
import java.util.Collection;
import java.util.concurrent.CompletionStage;

/**
 * A memory store that is not closed with its context: the server still serves for a moment, and its
 * pending calls must be decided. The store holds no resources except memory.
 */
record UnclosedStore(LimitStore memory) implements LimitStore {

  @Override
  public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
    return memory.decide(request, mode);
  }

  @Override
  public void adopt(Charge charge, KnownUse known) {
    memory.adopt(charge, known);
  }

  @Override
  public CompletionStage<Void> reset(Collection<StateKey> keys) {
    return memory.reset(keys);
  }

  @Override
  public void close() {}
}
