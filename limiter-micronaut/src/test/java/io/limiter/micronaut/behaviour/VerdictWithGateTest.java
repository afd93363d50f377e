// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

final class VerdictWithGateTest extends VerdictContract {

  @Override
  boolean gate() {
    return true;
  }
}
