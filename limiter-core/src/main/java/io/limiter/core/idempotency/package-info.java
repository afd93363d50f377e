// SPDX-License-Identifier: Apache-2.0
/**
 * Submissions that run once and whose answer is kept: a repetition gets the answer of the first,
 * and waits while that one runs.
 *
 * @since 0.1.0
 */
@NullMarked
package io.limiter.core.idempotency;

import org.jspecify.annotations.NullMarked;
