// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

final class BansWithGateTest extends BansContract {

  @Override
  boolean gate() {
    return true;
  }
}
