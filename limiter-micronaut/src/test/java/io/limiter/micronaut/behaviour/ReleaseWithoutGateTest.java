// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

final class ReleaseWithoutGateTest extends ReleaseContract {

  @Override
  boolean gate() {
    return false;
  }
}
