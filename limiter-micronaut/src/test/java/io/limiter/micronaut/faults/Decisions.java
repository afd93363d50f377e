// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.faults;

import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Verdict;
import io.limiter.micronaut.testing.StoreDecorator;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.event.BeanCreatedEvent;
import io.micronaut.context.event.BeanCreatedEventListener;
import jakarta.inject.Singleton;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;

/** Counts who decided the calls of a service. */
@Singleton
@Requires(property = "spec.name", value = LimitedService.SPEC)
final class Decisions implements BeanCreatedEventListener<LimitStore> {

  private final Map<DecidedBy, AtomicLong> bySource =
      Arrays.stream(DecidedBy.values())
          .collect(Collectors.toUnmodifiableMap(source -> source, source -> new AtomicLong()));
  private final AtomicLong failed = new AtomicLong();

  long by(DecidedBy source) {
    return bySource.get(source).get();
  }

  long failed() {
    return failed.get();
  }

  void forget() {
    bySource.values().forEach(count -> count.set(0));
    failed.set(0);
  }

  @Override
  public LimitStore onCreated(BeanCreatedEvent<LimitStore> event) {
    return new StoreDecorator(event.getBean()) {
      @Override
      public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
        return store.decide(request, mode).whenComplete((verdict, failure) -> count(verdict));
      }
    };
  }

  private void count(Verdict verdict) {
    (verdict == null ? failed : bySource.get(verdict.decidedBy())).incrementAndGet();
  }

  @Override
  public String toString() {
    return bySource + ", failed " + failed;
  }
}
