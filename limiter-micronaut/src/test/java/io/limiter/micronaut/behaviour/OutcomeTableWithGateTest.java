// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

final class OutcomeTableWithGateTest extends OutcomeTableContract {

  @Override
  boolean gate() {
    return true;
  }
}
