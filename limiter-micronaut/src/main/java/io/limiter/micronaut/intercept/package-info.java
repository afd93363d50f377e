// SPDX-License-Identifier: Apache-2.0

/**
 * The guard: no limited method is entered without a decision.
 *
 * @since 0.1.0
 */
@NullMarked
package io.limiter.micronaut.intercept;

import org.jspecify.annotations.NullMarked;
