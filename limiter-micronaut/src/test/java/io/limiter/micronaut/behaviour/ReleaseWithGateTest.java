// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

final class ReleaseWithGateTest extends ReleaseContract {

  @Override
  boolean gate() {
    return true;
  }
}
