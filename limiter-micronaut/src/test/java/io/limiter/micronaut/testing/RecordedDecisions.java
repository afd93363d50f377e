// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.testing;

import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Verdict;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.event.BeanCreatedEvent;
import io.micronaut.context.event.BeanCreatedEventListener;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;

/** What the store of a context was asked to decide, where the property test.recorded is set. */
@Singleton
@Requires(property = "test.recorded")
public class RecordedDecisions implements BeanCreatedEventListener<LimitStore> {

  private final List<LimitRequest> requests = new CopyOnWriteArrayList<>();

  /** All that was asked, in order. */
  public List<LimitRequest> requests() {
    return requests;
  }

  @Override
  public LimitStore onCreated(BeanCreatedEvent<LimitStore> event) {
    return new StoreDecorator(event.getBean()) {
      @Override
      public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
        requests.add(request);
        return store.decide(request, mode);
      }
    };
  }
}
