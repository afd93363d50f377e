// SPDX-License-Identifier: Apache-2.0
/**
 * Assembles the store: Redis where {@code redis.uri} is set, a Redis Cluster where {@code
 * redis.uris} is, with memory to fall back on, else memory alone.
 *
 * @since 0.1.0
 */
@NullMarked
package io.limiter.micronaut.redis;

import org.jspecify.annotations.NullMarked;
