// SPDX-License-Identifier: Apache-2.0
package io.limiter.management;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.ApplicationContext;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The settings of this module are checked as all others of the limiter are. */
class ManagementSettingsTest {

  @Test
  void eachSettingIsRead() {
    try (ApplicationContext context =
        ApplicationContext.run(
            Map.of(
                "spec.name", "none",
                "limiter.management.show-subjects", "Yes",
                "limiter.overrides.enabled", "ON",
                "limiter.overrides.interval", "1s"))) {
      assertThat(context.getBean(ManagementConfiguration.class).showSubjects()).isTrue();
      assertThat(context.getBean(OverridesConfiguration.class).enabled()).isTrue();
      assertThat(context.getBean(OverridesConfiguration.class).interval()).hasSeconds(1);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "limiter.overrides.enabled | yess | = yess: set it to true or false",
        "limiter.management.show-subjects | 1 | = 1: set it to true or false",
        "limiter.overrides.interval | soon | = soon: set it to a time, such as 500ms",
        "limiter.overrides.interval | 1m | = 60000 ms: set it to 100 ms to 5 s",
        "limiter.overrides.intervall | 1s | did you mean limiter.overrides.interval?",
        "limiter.management.show-subject | true | did you mean limiter.management.show-subjects?",
        "limiter.overides.enabled | true | did you mean limiter.overrides.enabled?"
      })
  void aMistakeStopsTheStart(String name, String value, String message) {
    assertThat(Starts.mistake(Map.of(name, value)))
        .hasMessageContaining(name)
        .hasMessageContaining(message);
  }
}
