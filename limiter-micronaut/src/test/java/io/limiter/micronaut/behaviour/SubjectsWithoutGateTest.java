// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

final class SubjectsWithoutGateTest extends SubjectsContract {

  @Override
  boolean gate() {
    return false;
  }
}
