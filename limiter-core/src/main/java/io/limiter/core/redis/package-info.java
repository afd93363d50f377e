// SPDX-License-Identifier: Apache-2.0
/**
 * Decides in Redis: one script and one round trip for a call, whatever its rules. {@code
 * decide.lua} beside this package describes the state and the wire format.
 */
@NullMarked
package io.limiter.core.redis;

import org.jspecify.annotations.NullMarked;
