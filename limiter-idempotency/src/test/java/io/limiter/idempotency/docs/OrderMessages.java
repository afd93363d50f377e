// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency.docs;

import io.limiter.idempotency.IdempotentCalls;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.type.Argument;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

@Singleton
@Requires(property = "spec.name", value = "keys-docs")
class OrderMessages {

  private final IdempotentCalls calls;

  OrderMessages(IdempotentCalls calls) {
    this.calls = calls.withRetain(Duration.ofDays(7));
  }

  CompletionStage<Integer> receive(String id, byte[] message) {
    return calls.run("orders", id, message, Argument.of(Integer.class), () -> ship(message));
  }

  private CompletionStage<Integer> ship(byte[] message) {
    return CompletableFuture.completedFuture(message.length);
  }
}
