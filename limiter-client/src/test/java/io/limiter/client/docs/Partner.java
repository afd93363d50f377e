// SPDX-License-Identifier: Apache-2.0
package io.limiter.client.docs;

import io.limiter.micronaut.annotation.LeakyBucket;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateRule;
import jakarta.inject.Singleton;
import org.reactivestreams.Publisher;

@Singleton
class Partner {

  private final Catalogue catalogue;

  Partner(Catalogue catalogue) {
    this.catalogue = catalogue;
  }

  /** Ten calls in a second, by all instances together; up to 100 wait for their turn. */
  @RateRule(
      count = 10,
      time = 1,
      limitType = LimitType.GLOBAL,
      leakyBucket = @LeakyBucket(queue = 100))
  Publisher<Item> items() {
    return catalogue.items();
  }
}
