// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

final class ResultCostsWithGateTest extends ResultCostsContract {

  @Override
  boolean gate() {
    return true;
  }
}
