// SPDX-License-Identifier: Apache-2.0

/**
 * The arithmetic of every algorithm except the log. The memory store keeps this state; for Redis,
 * the same code computes remaining, retry-after and reset-after from the numbers in a reply.
 *
 * <p>Internal: it may change at any time.
 */
@NullMarked
package io.limiter.core.state;

import org.jspecify.annotations.NullMarked;
