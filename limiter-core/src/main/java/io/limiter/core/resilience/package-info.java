// SPDX-License-Identifier: Apache-2.0
/**
 * Decorators of {@link io.limiter.core.store.LimitStore}: what happens when a store does not
 * answer, and the deny cache. Each can be used without the others.
 *
 * @since 0.1.0
 */
@NullMarked
package io.limiter.core.resilience;

import org.jspecify.annotations.NullMarked;
