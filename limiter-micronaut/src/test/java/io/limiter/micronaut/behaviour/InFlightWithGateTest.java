// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

final class InFlightWithGateTest extends InFlightContract {

  @Override
  boolean gate() {
    return true;
  }
}
