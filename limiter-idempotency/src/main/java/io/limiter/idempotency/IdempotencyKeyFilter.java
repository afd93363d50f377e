// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import io.micronaut.aop.MethodInvocationContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Order;
import io.micronaut.core.order.Ordered;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.MutableHttpRequest;
import io.micronaut.http.annotation.ClientFilter;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.client.ClientAttributes;
import io.micronaut.http.client.exceptions.HttpClientException;
import io.micronaut.scheduling.TaskExecutors;
import jakarta.inject.Named;
import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;

/**
 * Adds an {@code Idempotency-Key} to requests without one. Each attempt of a declarative client is
 * a new request, but all belong to one invocation of its method, which therefore keeps the key. A
 * request that is made by hand has no invocation, and receives no key: nothing would show that a
 * later one is the same call.
 */
@SendIdempotencyKey
@ClientFilter
@Order(Ordered.HIGHEST_PRECEDENCE) // filters that sign a request sign its key, too
@Requires(classes = HttpClientException.class)
final class IdempotencyKeyFilter {

  private static final String ATTRIBUTE = "io.limiter.idempotency-key";

  private static final int KEY_BYTES = 16;

  private final Set<String> methods;
  private final RandomBytes random;

  IdempotencyKeyFilter(
      IdempotencyConfiguration settings, @Named(TaskExecutors.BLOCKING) ExecutorService blocking) {
    this.methods = settings.clientMethods();
    this.random = new RandomBytes(KEY_BYTES, blocking);
  }

  @RequestFilter
  CompletionStage<HttpRequest<?>> before(MutableHttpRequest<?> request) {
    if (!methods.contains(request.getMethodName())
        || request.getHeaders().contains(IdempotencyKey.HEADER)) {
      return CompletableFuture.completedFuture(request);
    }
    MethodInvocationContext<?, ?> call =
        ClientAttributes.getInvocationContext(request).orElse(null);
    if (call == null) {
      return CompletableFuture.completedFuture(request);
    }
    // The attempts of one call are made one after another.
    Optional<String> known = call.getAttribute(ATTRIBUTE, String.class);
    if (known.isPresent()) {
      request.header(IdempotencyKey.HEADER, known.get());
      return CompletableFuture.completedFuture(request);
    }
    return random
        .next()
        .thenApply(
            drawn -> {
              String key = key(drawn);
              call.setAttribute(ATTRIBUTE, key);
              return request.header(IdempotencyKey.HEADER, key);
            });
  }

  /** A random UUID as a quoted string, as draft-ietf-httpapi-idempotency-key-header demands. */
  private static String key(byte[] random) {
    ByteBuffer bits = ByteBuffer.wrap(random);
    UUID uuid =
        new UUID(
            (bits.getLong() & ~0xF000L) | 0x4000L,
            (bits.getLong() & ~0xC000_0000_0000_0000L) | 0x8000_0000_0000_0000L);
    return '"' + uuid.toString() + '"';
  }
}
