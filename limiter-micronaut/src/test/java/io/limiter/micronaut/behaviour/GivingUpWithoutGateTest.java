// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

final class GivingUpWithoutGateTest extends GivingUpContract {

  @Override
  boolean gate() {
    return false;
  }
}
