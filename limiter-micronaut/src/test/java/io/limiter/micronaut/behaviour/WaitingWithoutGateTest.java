// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

final class WaitingWithoutGateTest extends WaitingContract {

  @Override
  boolean gate() {
    return false;
  }
}
