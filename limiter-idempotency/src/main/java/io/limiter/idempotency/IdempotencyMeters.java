// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import io.limiter.idempotency.SubmissionService.Result;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micronaut.context.BeanContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.event.ApplicationEventListener;
import io.micronaut.context.event.StartupEvent;
import jakarta.annotation.PreDestroy;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The meters {@code limiter.idempotency.*}. They count from the start of the application on: the
 * registry is a bean that may need beans with submissions, so it is not asked for earlier.
 */
@Singleton
@Requires(classes = MeterRegistry.class)
@Requires(beans = MeterRegistry.class)
@Requires(
    property = "limiter.metrics.enabled",
    pattern = "(?i)(?!\\s*(?:false|off|no)\\s*$).*",
    defaultValue = "true")
final class IdempotencyMeters
    implements SubmissionService.Listener, ApplicationEventListener<StartupEvent> {

  /** The most values of the tag {@code route}, beside {@value #OTHER}. */
  static final int MAX_ROUTES = 1_000;

  private static final String OTHER = "other";

  private final BeanContext beans;
  private final Map<String, Map<Result, Counter>> counters = new ConcurrentHashMap<>();

  /** They end with this application; the counts stay. */
  private volatile List<Meter> gauges = List.of();

  /** Null until the application has started, and after its end. */
  private volatile @Nullable MeterRegistry registry;

  IdempotencyMeters(BeanContext beans) {
    this.beans = beans;
  }

  @Override
  public void onApplicationEvent(StartupEvent started) {
    MeterRegistry meters = beans.getBean(MeterRegistry.class);
    SubmissionService submissions = beans.getBean(SubmissionService.class);
    registry = meters;
    gauges =
        List.of(
            Gauge.builder("limiter.idempotency.waiting", submissions, SubmissionService::waiting)
                .description("Repetitions that wait for a submission that runs")
                .register(meters),
            Gauge.builder(
                    "limiter.idempotency.pending", submissions, SubmissionService::pendingBytes)
                .baseUnit("bytes")
                .description("Answers that Redis has not taken yet")
                .register(meters));
  }

  @Override
  public void known(String route, Result result) {
    MeterRegistry meters = registry;
    if (meters != null) {
      counter(meters, route, result).increment();
    }
  }

  /** All results of a route begin together: else an alert would not see the first of a kind. */
  private Counter counter(MeterRegistry meters, String route, Result result) {
    boolean fits = counters.containsKey(route) || counters.size() < MAX_ROUTES;
    Map<Result, Counter> all =
        counters.computeIfAbsent(
            fits ? route : OTHER,
            name ->
                Stream.of(Result.values())
                    .collect(
                        Collectors.toMap(
                            Function.identity(), some -> counter(name, some).register(meters))));
    return Objects.requireNonNull(all.get(result));
  }

  private static Counter.Builder counter(String route, Result result) {
    return Counter.builder("limiter.idempotency")
        .tag("route", route)
        .tag("result", result.name().toLowerCase(Locale.ROOT))
        .description("Requests and calls from code whose answers are repeated");
  }

  @PreDestroy
  void close() {
    MeterRegistry meters = registry;
    registry = null;
    if (meters != null) {
      gauges.forEach(meters::remove);
    }
  }
}
