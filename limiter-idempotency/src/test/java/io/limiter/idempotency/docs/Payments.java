// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency.docs;

import io.limiter.idempotency.SendIdempotencyKey;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.client.annotation.Client;
import io.micronaut.http.client.exceptions.HttpClientException;
import io.micronaut.retry.annotation.Retryable;

/** As in the guide to outgoing calls. */
@SendIdempotencyKey
@Client("https://api.example.com")
interface Payments {

  @Post("/payments")
  @Retryable(includes = HttpClientException.class)
  String pay(@Body String payment);
}
