// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

final class SubjectsWithGateTest extends SubjectsContract {

  @Override
  boolean gate() {
    return true;
  }
}
