// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

final class PlacesWithoutGateTest extends PlacesContract {

  @Override
  boolean gate() {
    return false;
  }
}
