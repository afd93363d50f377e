// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.micronaut.call.AdmissionControl;
import io.limiter.micronaut.testing.HttpService;
import io.limiter.micronaut.testing.MicronautVersion;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micronaut.context.ApplicationContext;
import io.micronaut.runtime.server.EmbeddedServer;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** A registry that several applications use, one after another, as tests and restarts do. */
class MetersOfClosedApplicationsTest {

  private final MeterRegistry registry = new SimpleMeterRegistry();

  /** In Micronaut 5 the definition of a bean keeps the context that was the last to call it. */
  @Test
  void noLimiterOfThemStaysInMemory() {
    int kept = MicronautVersion.either(0, 2);
    List<WeakReference<AdmissionControl>> beans =
        IntStream.range(0, 5).mapToObj(i -> closed()).toList();

    await()
        .atMost(Duration.ofSeconds(30))
        .pollInterval(Duration.ofMillis(50))
        .untilAsserted(
            () -> {
              System.gc();
              assertThat(beans)
                  .filteredOn(bean -> !bean.refersTo(null))
                  .hasSizeLessThanOrEqualTo(kept);
            });
  }

  @Test
  void theNextOneHasMetersOfItsOwnAndTheCountsGoOn() {
    closed();
    assertThat(states()).isEmpty();
    assertThat(decisions()).isEqualTo(2);

    try (ApplicationContext next = open()) {
      assertThat(next.isRunning()).isTrue();
      assertThat(states()).contains("limiter.waiting", "limiter.fallback");
      assertThat(registry.get("limiter.waiting").gauge().value()).isZero();
    }
    assertThat(decisions()).isEqualTo(4);
  }

  private double decisions() {
    return registry.get("limiter.decisions").counters().stream().mapToDouble(c -> c.count()).sum();
  }

  /** The meters that read something of the application. */
  private List<String> states() {
    return registry.getMeters().stream()
        .map(Meter::getId)
        .map(Meter.Id::getName)
        .filter(name -> name.startsWith("limiter."))
        .filter(name -> !name.equals("limiter.decisions"))
        .toList();
  }

  private WeakReference<AdmissionControl> closed() {
    try (ApplicationContext context = open()) {
      return new WeakReference<>(context.getBean(AdmissionControl.class));
    }
  }

  private ApplicationContext open() {
    ApplicationContext context =
        ApplicationContext.builder(
                Map.of("spec.name", AlgorithmRoutes.SPEC, "micronaut.server.port", -1))
            .singletons(registry)
            .start();
    EmbeddedServer server = context.getBean(EmbeddedServer.class).start();
    HttpService service = HttpService.of(server);
    service.status("/algorithms/log");
    service.status("/algorithms/log");
    return context;
  }
}
