// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.store;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.StateKey;
import io.limiter.core.Verdict;
import java.time.Duration;
import java.util.Collection;
import java.util.concurrent.CompletionStage;

/** A store in front of another one: passes on what a subclass does not override. */
public abstract class DelegatingStore implements LimitStore {

  /** The store behind this one. */
  protected final LimitStore store;

  protected DelegatingStore(LimitStore store) {
    this.store = store;
  }

  @Override
  public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
    return store.decide(request, mode);
  }

  @Override
  public CompletionStage<Grant> lease(LimitRequest units, Duration time) {
    return store.lease(units, time);
  }

  @Override
  public void adopt(Charge charge, SeenUse known) {
    store.adopt(charge, known);
  }

  @Override
  public CompletionStage<Void> reset(Collection<StateKey> keys) {
    return store.reset(keys);
  }

  @Override
  public CompletionStage<Void> liftBans(Collection<StateKey> keys) {
    return store.liftBans(keys);
  }

  @Override
  public void close() {
    store.close();
  }
}
