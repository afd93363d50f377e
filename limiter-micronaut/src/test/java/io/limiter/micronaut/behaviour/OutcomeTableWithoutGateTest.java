// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

final class OutcomeTableWithoutGateTest extends OutcomeTableContract {

  @Override
  boolean gate() {
    return false;
  }
}
