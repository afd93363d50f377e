// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.server;

import io.limiter.core.redis.ConnectionSource;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.event.BeanCreatedEvent;
import io.micronaut.context.event.BeanCreatedEventListener;
import jakarta.inject.Singleton;

/** Replaces the decision by the no-op script, where that is to be measured. */
@Singleton
@Requires(property = BenchmarkService.NO_OP, value = "true")
final class NoOpStart implements BeanCreatedEventListener<ConnectionSource> {

  @Override
  public ConnectionSource onCreated(BeanCreatedEvent<ConnectionSource> event) {
    return new NoOpConnections(event.getBean());
  }
}
