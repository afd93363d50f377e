// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

final class AnonymousWithoutGateTest extends AnonymousContract {

  @Override
  boolean gate() {
    return false;
  }
}
