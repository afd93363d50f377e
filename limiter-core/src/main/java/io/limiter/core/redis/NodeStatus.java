// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.limiter.core.StoreException;
import java.util.Optional;

/**
 * The status of a Redis node at its last check.
 *
 * @param name {@code Redis}, or host and port of a node of a Redis Cluster
 * @param failure why it gave no reply; empty if it replied
 * @param breakerOpen whether calls fail without asking it, until a probe succeeds
 */
public record NodeStatus(String name, Optional<StoreException> failure, boolean breakerOpen) {}
