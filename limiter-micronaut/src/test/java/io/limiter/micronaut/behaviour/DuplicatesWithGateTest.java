// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

final class DuplicatesWithGateTest extends DuplicatesContract {

  @Override
  boolean gate() {
    return true;
  }
}
