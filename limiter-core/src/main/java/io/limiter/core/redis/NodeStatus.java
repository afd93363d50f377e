// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.limiter.core.StoreException;
import java.util.Optional;

/**
 * How a Redis node was when it was last asked.
 *
 * @param name {@code Redis}, or host and port of a node of a Redis Cluster
 * @param failure why it gave no answer; empty if it has answered
 * @param breakerOpen whether calls are refused without asking it, until a probe succeeds
 */
public record NodeStatus(String name, Optional<StoreException> failure, boolean breakerOpen) {}
