// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

final class AddressesWithGateTest extends AddressesContract {

  @Override
  boolean gate() {
    return true;
  }
}
