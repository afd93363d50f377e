// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

final class BypassWithoutGateTest extends BypassContract {

  @Override
  boolean gate() {
    return false;
  }
}
