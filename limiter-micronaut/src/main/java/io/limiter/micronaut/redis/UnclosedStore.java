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
 * A store in memory that is not closed with its context: the server still serves for a moment, and
 * what it has under way is to be decided. There is nothing to free but memory.
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
