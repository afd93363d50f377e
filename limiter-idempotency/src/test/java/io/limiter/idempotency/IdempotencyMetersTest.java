// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.idempotency.SubmissionService.Result;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micronaut.context.ApplicationContext;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

class IdempotencyMetersTest {

  @AutoClose
  private final ApplicationContext context =
      ApplicationContext.run(Map.of("micronaut.metrics.enabled", true));

  private final SubmissionService service = context.getBean(SubmissionService.class);
  private final MeterRegistry meters = context.getBean(MeterRegistry.class);

  private double counted(String route, String result) {
    return meters
        .get("limiter.idempotency")
        .tags("route", route, "result", result)
        .counter()
        .count();
  }

  @Test
  void resultsAreCountedByRouteAndAllBeginWithTheFirst() {
    service.report("POST /a", Result.FIRST);
    service.report("POST /a", Result.FIRST);
    service.report("POST /b", Result.NO_ROOM);
    assertThat(counted("POST /a", "first")).isEqualTo(2);
    assertThat(counted("POST /a", "lost")).isZero();
    assertThat(counted("POST /b", "no_room")).isEqualTo(1);
  }

  @Test
  void manyRoutesAreCountedTogether() {
    for (int i = 0; i < IdempotencyMeters.MAX_ROUTES + 5; i++) {
      service.report("queue " + i, Result.FIRST);
    }
    service.report("queue 0", Result.FIRST);
    assertThat(counted("queue 0", "first")).isEqualTo(2);
    assertThat(counted("other", "first")).isEqualTo(5);
  }

  @Test
  void whatIsHeldIsShownUntilTheServiceEnds() {
    assertThat(meters.get("limiter.idempotency.waiting").gauge().value()).isZero();
    assertThat(meters.get("limiter.idempotency.pending").gauge().value()).isZero();
    context.close();
    service.report("POST /a", Result.FIRST);
    List<String> left =
        meters.getMeters().stream().map(Meter::getId).map(Meter.Id::getName).toList();
    assertThat(left).doesNotContain("limiter.idempotency", "limiter.idempotency.waiting");
  }

  @Test
  void withoutMetersNothingIsCounted() {
    try (ApplicationContext none =
        ApplicationContext.run(
            Map.of("micronaut.metrics.enabled", true, "limiter.metrics.enabled", "off"))) {
      assertThat(none.containsBean(IdempotencyMeters.class)).isFalse();
      none.getBean(SubmissionService.class).report("POST /a", Result.FIRST);
    }
  }
}
