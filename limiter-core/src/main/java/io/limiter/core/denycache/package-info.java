// SPDX-License-Identifier: Apache-2.0
/**
 * The deny cache: a decorator of {@link io.limiter.core.LimitStore} that repeats denials.
 *
 * @since 0.1.0
 */
@NullMarked
package io.limiter.core.denycache;

import org.jspecify.annotations.NullMarked;
