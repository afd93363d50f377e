// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.call.IdempotentCalls;
import io.micronaut.core.type.Argument;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

@Singleton
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
