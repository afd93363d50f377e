// SPDX-License-Identifier: Apache-2.0
/**
 * Decorators of {@link io.limiter.core.store.LimitStore}: what happens when a store does not
 * answer, and the deny cache. Each can be used without the others.
 */
@NullMarked
package io.limiter.core.resilience;

import org.jspecify.annotations.NullMarked;
