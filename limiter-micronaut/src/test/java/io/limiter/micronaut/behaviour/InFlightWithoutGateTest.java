// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

final class InFlightWithoutGateTest extends InFlightContract {

  @Override
  boolean gate() {
    return false;
  }
}
