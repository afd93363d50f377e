// SPDX-License-Identifier: Apache-2.0
/**
 * What decides while a store does not answer: a decorator of {@link io.limiter.core.LimitStore}
 * with its fallback, which continues from what this instance knows of each subject.
 *
 * @since 0.1.0
 */
@NullMarked
package io.limiter.core.outage;

import org.jspecify.annotations.NullMarked;
