// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

final class GivingUpWithGateTest extends GivingUpContract {

  @Override
  boolean gate() {
    return true;
  }
}
