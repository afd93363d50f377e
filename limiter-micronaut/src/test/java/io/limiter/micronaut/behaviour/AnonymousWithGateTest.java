// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

final class AnonymousWithGateTest extends AnonymousContract {

  @Override
  boolean gate() {
    return true;
  }
}
