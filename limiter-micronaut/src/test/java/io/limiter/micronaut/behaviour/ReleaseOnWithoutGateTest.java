// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

final class ReleaseOnWithoutGateTest extends ReleaseOnContract {

  @Override
  boolean gate() {
    return false;
  }
}
