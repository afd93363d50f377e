// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.faults;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Redis falls silent while the guard decides, on threads that wait. */
@Tag("faults")
class StalledGuardTest {

  @Test
  @DisplayName("F3, F33: a service, three seconds without Redis")
  void aServiceGoesOnWithoutRedis() {
    StalledService.goesOn("auto", "late", 100, Fault.STOPPED, 3);
  }

  @Test
  @DisplayName("F10, F33: a service, a minute without Redis")
  void aServiceGoesOnForAMinute() {
    StalledService.goesOn("auto", "late", 300, Fault.STOPPED, 60);
  }
}
