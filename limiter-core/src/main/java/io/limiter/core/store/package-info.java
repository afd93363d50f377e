// SPDX-License-Identifier: Apache-2.0

/**
 * The contract of a store: {@link io.limiter.core.store.LimitStore} decides a whole call at once,
 * and {@link io.limiter.core.store.Decision} builds the verdict.
 *
 * @since 0.1.0
 */
@NullMarked
package io.limiter.core.store;

import org.jspecify.annotations.NullMarked;
