// SPDX-License-Identifier: Apache-2.0

/**
 * The algorithms as values: what each counts, its numbers, its bounds, and the {@link
 * io.limiter.core.rule.RuleStack} of rules that count one subject together. The decisions are made
 * elsewhere.
 *
 * @since 0.1.0
 */
@NullMarked
package io.limiter.core.rule;

import org.jspecify.annotations.NullMarked;
