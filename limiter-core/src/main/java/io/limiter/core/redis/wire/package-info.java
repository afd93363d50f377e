// SPDX-License-Identifier: Apache-2.0

/**
 * The Redis scripts, what is sent to them, and what comes back. {@code decide.lua} beside this
 * package describes the stored state and the wire format.
 */
@NullMarked
package io.limiter.core.redis.wire;

import org.jspecify.annotations.NullMarked;
