// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

final class ToldApartWithGateTest extends ToldApartContract {

  @Override
  boolean gate() {
    return true;
  }
}
