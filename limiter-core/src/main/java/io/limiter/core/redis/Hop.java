// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;

/**
 * One node that a call is sent to.
 *
 * @param node its name in messages
 * @param period is told how the call ends, before its caller is
 * @param demoted is told if the node is a primary no more
 */
record Hop(
    String node,
    Breaker.Period period,
    Runnable demoted,
    RedisClusterAsyncCommands<byte[], byte[]> commands) {}
