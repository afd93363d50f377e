// SPDX-License-Identifier: Apache-2.0
/**
 * Replaces {@link io.limiter.idempotency} while {@code limiter.enabled} is false: work is always
 * run. This package is outside of that one, which is disabled as a whole.
 */
@Configuration
@Requires(property = "limiter.enabled", pattern = "(?i)\\s*(?:false|off|no)\\s*")
@NullMarked
package io.limiter.disabled.idempotency;

import io.micronaut.context.annotation.Configuration;
import io.micronaut.context.annotation.Requires;
import org.jspecify.annotations.NullMarked;
