// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.core.FadingCounter;
import io.micronaut.context.annotation.Factory;
import jakarta.inject.Singleton;

@Factory
class Algorithms {

  @Singleton
  FadingCounter fadingCounter() {
    return new FadingCounter();
  }
}
