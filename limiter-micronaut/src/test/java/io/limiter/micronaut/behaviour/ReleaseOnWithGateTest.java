// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

final class ReleaseOnWithGateTest extends ReleaseOnContract {

  @Override
  boolean gate() {
    return true;
  }
}
