// SPDX-License-Identifier: Apache-2.0
/**
 * The Redis store: one script and one round trip for a call, whatever its rules. {@link
 * io.limiter.core.redis.RedisStore} takes {@link io.limiter.core.redis.LoopConnections}, {@link
 * io.limiter.core.redis.SharedConnection} or a Cluster's {@link
 * io.limiter.core.redis.cluster.ClusterConnections}, and has a breaker for each node.
 *
 * @since 0.1.0
 */
@NullMarked
package io.limiter.core.redis;

import org.jspecify.annotations.NullMarked;
