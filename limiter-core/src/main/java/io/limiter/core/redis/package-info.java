// SPDX-License-Identifier: Apache-2.0
/**
 * The Redis store: one script and one round trip for a call, whatever its rules. {@code decide.lua}
 * in the package {@code wire} describes the state and the wire format.
 */
@NullMarked
package io.limiter.core.redis;

import org.jspecify.annotations.NullMarked;
