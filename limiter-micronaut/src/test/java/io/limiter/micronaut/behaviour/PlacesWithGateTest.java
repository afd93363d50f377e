// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

final class PlacesWithGateTest extends PlacesContract {

  @Override
  boolean gate() {
    return true;
  }
}
