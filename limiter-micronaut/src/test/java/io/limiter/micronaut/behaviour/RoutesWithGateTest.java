// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

final class RoutesWithGateTest extends LimitedRoutesContract {

  @Override
  boolean gate() {
    return true;
  }
}
