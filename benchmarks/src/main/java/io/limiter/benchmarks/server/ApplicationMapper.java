// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.server;

import io.micronaut.context.annotation.Requires;
import io.micronaut.context.event.BeanCreatedEvent;
import io.micronaut.context.event.BeanCreatedEventListener;
import io.micronaut.json.JsonMapper;
import jakarta.inject.Singleton;

/**
 * Takes part in the JSON mapper, as an application may, so that the mapper itself writes denials.
 * Set by the variable {@code BENCHMARK_APPLICATION_MAPPER=true}.
 */
@Singleton
@Requires(property = "benchmark.application-mapper", value = "true")
final class ApplicationMapper implements BeanCreatedEventListener<JsonMapper> {

  @Override
  public JsonMapper onCreated(BeanCreatedEvent<JsonMapper> event) {
    return event.getBean();
  }
}
