// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.testing;

import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.StateKey;
import io.limiter.core.Verdict;
import java.util.Collection;
import java.util.concurrent.CompletionStage;

/** A store that passes all on to another one. A test overrides what it changes or records. */
public abstract class StoreDecorator implements LimitStore {

  protected final LimitStore store;

  protected StoreDecorator(LimitStore store) {
    this.store = store;
  }

  @Override
  public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
    return store.decide(request, mode);
  }

  @Override
  public CompletionStage<Void> reset(Collection<StateKey> keys) {
    return store.reset(keys);
  }

  @Override
  public void close() {
    store.close();
  }
}
