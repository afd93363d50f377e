// SPDX-License-Identifier: Apache-2.0

/**
 * Connections to Redis: one for each event loop, or one that all threads share, with or without
 * Sentinel. A connection is opened without blocking, warmed before it is used, and never writes a
 * command twice. Each node has a {@link io.limiter.core.redis.connection.Breaker}.
 */
@NullMarked
package io.limiter.core.redis.connection;

import org.jspecify.annotations.NullMarked;
