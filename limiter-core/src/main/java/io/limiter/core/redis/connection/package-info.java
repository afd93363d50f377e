// SPDX-License-Identifier: Apache-2.0

/**
 * One connection to Redis, found directly or by Sentinel, and the commands on it. It is opened
 * without blocking, warmed before it is used, and never writes a command twice. Internal: not
 * exported.
 */
@NullMarked
package io.limiter.core.redis.connection;

import org.jspecify.annotations.NullMarked;
