// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

final class OutcomesWithGateTest extends OutcomesContract {

  @Override
  boolean gate() {
    return true;
  }
}
