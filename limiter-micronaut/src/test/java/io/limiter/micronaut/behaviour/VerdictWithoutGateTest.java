// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

final class VerdictWithoutGateTest extends VerdictContract {

  @Override
  boolean gate() {
    return false;
  }
}
