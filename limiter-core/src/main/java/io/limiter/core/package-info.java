// SPDX-License-Identifier: Apache-2.0
/**
 * The engine: rules and policies, the subjects they count, verdicts, and the contract of a store.
 * It has no dependency on HTTP, Redis or any framework.
 *
 * @since 0.1.0
 */
@NullMarked
package io.limiter.core;

import org.jspecify.annotations.NullMarked;
