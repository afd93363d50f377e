// SPDX-License-Identifier: Apache-2.0
/**
 * Leases: an instance with many calls of one subject takes units in advance, and spends them
 * without the store. {@code docs/internals/leases.md} derives why no rule ever admits more than its
 * count.
 *
 * @since 0.1.0
 */
@NullMarked
package io.limiter.core.lease;

import org.jspecify.annotations.NullMarked;
