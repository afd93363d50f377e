// SPDX-License-Identifier: Apache-2.0
/**
 * The {@linkplain io.limiter.core.denycache.DenyCache deny cache} in front of Redis, its settings
 * and its meter.
 *
 * @since 0.1.0
 */
@NullMarked
package io.limiter.micronaut.denycache;

import org.jspecify.annotations.NullMarked;
