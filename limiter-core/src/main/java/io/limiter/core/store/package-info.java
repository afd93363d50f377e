// SPDX-License-Identifier: Apache-2.0

/**
 * For authors of a {@link io.limiter.core.LimitStore}: {@link io.limiter.core.store.Decision}
 * builds the verdict, and {@link io.limiter.core.store.DelegatingStore} hands on to another store.
 *
 * @since 0.1.0
 */
@NullMarked
package io.limiter.core.store;

import org.jspecify.annotations.NullMarked;
