// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

final class AddressesWithoutGateTest extends AddressesContract {

  @Override
  boolean gate() {
    return false;
  }
}
