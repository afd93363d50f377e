// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

final class WaitingWithGateTest extends WaitingContract {

  @Override
  boolean gate() {
    return true;
  }
}
