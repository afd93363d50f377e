// SPDX-License-Identifier: Apache-2.0

/**
 * A Redis Cluster: one connection for each primary, the map from slots to primaries, and redirects
 * within the deadline of a call.
 *
 * @since 0.1.0
 */
@NullMarked
package io.limiter.core.redis.cluster;

import org.jspecify.annotations.NullMarked;
