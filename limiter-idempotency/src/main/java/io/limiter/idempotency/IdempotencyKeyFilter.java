// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import io.micronaut.aop.MethodInvocationContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Order;
import io.micronaut.core.order.Ordered;
import io.micronaut.http.MutableHttpRequest;
import io.micronaut.http.annotation.ClientFilter;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.client.ClientAttributes;
import io.micronaut.http.client.exceptions.HttpClientException;
import java.util.Set;
import java.util.UUID;

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

  private final Set<String> methods;

  IdempotencyKeyFilter(IdempotencyConfiguration settings) {
    this.methods = settings.clientMethods();
  }

  @RequestFilter
  void before(MutableHttpRequest<?> request) {
    if (methods.contains(request.getMethodName())
        && !request.getHeaders().contains(IdempotencyKey.HEADER)) {
      ClientAttributes.getInvocationContext(request)
          .ifPresent(call -> request.header(IdempotencyKey.HEADER, of(call)));
    }
  }

  /** The attempts of one call are made one after another. */
  private static String of(MethodInvocationContext<?, ?> call) {
    return call.getAttribute(ATTRIBUTE, String.class)
        .orElseGet(
            () -> {
              // A quoted string, as draft-ietf-httpapi-idempotency-key-header demands.
              String key = '"' + UUID.randomUUID().toString() + '"';
              call.setAttribute(ATTRIBUTE, key);
              return key;
            });
  }
}
