// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

final class RoutesWithoutGateTest extends LimitedRoutesContract {

  @Override
  boolean gate() {
    return false;
  }
}
