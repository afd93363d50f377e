// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.micronaut.context.exceptions.ConfigurationException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;

class RequiredMicronautTest {

  @ParameterizedTest
  @ValueSource(strings = {"3.10.4", "4.7.6", "4.9.12"})
  void anOldMicronautStopsTheStart(String version) {
    assertThatThrownBy(() -> new RequiredMicronaut(version))
        .isInstanceOf(ConfigurationException.class)
        .hasMessageContaining("Micronaut " + version + " is too old")
        .hasMessageContaining("4.10.0");
  }

  @ParameterizedTest
  @NullSource
  @ValueSource(strings = {"4.10.0", "4.10.26", "4.11.0-SNAPSHOT", "5.0.0", "5.0.0-M2"})
  void othersDoNot(String version) {
    assertThatNoException().isThrownBy(() -> new RequiredMicronaut(version));
  }
}
