// SPDX-License-Identifier: Apache-2.0
/**
 * What rules that keep numbers find in them: the arithmetic of every algorithm but the log. The
 * memory store keeps these cells; of what the Redis scripts keep, and decide by alike, they tell
 * what is left, and when there is more.
 *
 * <p>For stores of this library; it may change at any time.
 */
@NullMarked
package io.limiter.core.cell;

import org.jspecify.annotations.NullMarked;
