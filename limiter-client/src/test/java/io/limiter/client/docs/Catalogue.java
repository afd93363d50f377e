// SPDX-License-Identifier: Apache-2.0
package io.limiter.client.docs;

import io.limiter.client.ObeyRateLimits;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.client.annotation.Client;
import org.reactivestreams.Publisher;

@ObeyRateLimits
@Client("https://api.example.com")
interface Catalogue {

  @Get("/items")
  Publisher<Item> items();
}
