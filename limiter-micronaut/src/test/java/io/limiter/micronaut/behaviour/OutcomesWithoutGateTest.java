// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

final class OutcomesWithoutGateTest extends OutcomesContract {

  @Override
  boolean gate() {
    return false;
  }
}
