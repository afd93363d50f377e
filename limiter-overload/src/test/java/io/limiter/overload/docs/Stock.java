// SPDX-License-Identifier: Apache-2.0
package io.limiter.overload.docs;

import io.limiter.overload.LocalConcurrency;
import jakarta.inject.Singleton;

@Singleton
class Stock {

  @LocalConcurrency("inventory")
  int left(String item) {
    return ask(item);
  }

  private static int ask(String item) {
    return item.length();
  }
}
