// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

final class CostsWithGateTest extends CostsContract {

  @Override
  boolean gate() {
    return true;
  }
}
