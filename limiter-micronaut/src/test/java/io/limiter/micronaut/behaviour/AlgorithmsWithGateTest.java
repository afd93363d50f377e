// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

final class AlgorithmsWithGateTest extends AlgorithmsContract {

  @Override
  boolean gate() {
    return true;
  }
}
