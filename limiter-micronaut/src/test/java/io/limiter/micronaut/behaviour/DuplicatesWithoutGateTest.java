// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

final class DuplicatesWithoutGateTest extends DuplicatesContract {

  @Override
  boolean gate() {
    return false;
  }
}
