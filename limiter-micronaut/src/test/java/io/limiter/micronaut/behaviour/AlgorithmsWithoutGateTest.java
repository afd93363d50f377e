// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

final class AlgorithmsWithoutGateTest extends AlgorithmsContract {

  @Override
  boolean gate() {
    return false;
  }
}
