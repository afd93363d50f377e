// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.faults;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Redis falls silent while the gate decides, on event loops. */
@Tag("faults")
class StalledGateTest {

  @ParameterizedTest
  @CsvSource({
    "event-loop, 500, STOPPED",
    "shared, 500, BLACK_HOLE",
  })
  @DisplayName("F3, F4, F33: a service, three seconds without Redis")
  void aServiceGoesOnWithoutRedis(String connections, int perSecond, Fault fault) {
    StalledService.goesOn(connections, "early", perSecond, fault, 3);
  }

  @ParameterizedTest
  @CsvSource({
    "event-loop, 2000, BLACK_HOLE",
    "shared, 2000, STOPPED",
  })
  @DisplayName("F10, F33: a service, a minute without Redis")
  void aServiceGoesOnForAMinute(String connections, int perSecond, Fault fault) {
    StalledService.goesOn(connections, "early", perSecond, fault, 60);
  }
}
