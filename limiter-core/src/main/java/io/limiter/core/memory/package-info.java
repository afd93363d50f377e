// SPDX-License-Identifier: Apache-2.0
/**
 * The memory store: the semantics of the Redis scripts within one process, for services of one
 * instance, for development, and as the fallback while Redis is away.
 *
 * <p>The state of a key consists of a log of unit stamps in a ring buffer, a cell of some numbers
 * for each rule of another algorithm, and the state of its ban; parts without rules are absent.
 * Keys are spread over stripes with a lock each. A call locks the stripes of its keys in order,
 * reads everything, decides, then writes.
 *
 * @since 0.1.0
 */
@NullMarked
package io.limiter.core.memory;

import org.jspecify.annotations.NullMarked;
