// SPDX-License-Identifier: Apache-2.0
package io.limiter.disabled.idempotency;

import io.limiter.idempotency.IdempotentCalls;
import io.micronaut.context.annotation.Factory;
import jakarta.inject.Singleton;

/** Provides calls that always run. */
@Factory
final class DisabledCalls {

  @Singleton
  IdempotentCalls calls() {
    return IdempotentCalls.unlimited();
  }
}
