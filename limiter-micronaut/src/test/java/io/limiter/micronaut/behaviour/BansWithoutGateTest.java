// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

final class BansWithoutGateTest extends BansContract {

  @Override
  boolean gate() {
    return false;
  }
}
