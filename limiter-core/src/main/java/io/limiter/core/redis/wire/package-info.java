// SPDX-License-Identifier: Apache-2.0

/**
 * The Redis scripts, their arguments, and their replies. {@code decide.lua} in this package
 * describes the stored state and the wire format.
 */
@NullMarked
package io.limiter.core.redis.wire;

import org.jspecify.annotations.NullMarked;
