// SPDX-License-Identifier: Apache-2.0
/**
 * Other limits for single subjects, for a time: an operator raises or lifts what one caller may use
 * without a change for all others.
 *
 * @since 0.1.0
 */
@NullMarked
package io.limiter.core.override;

import org.jspecify.annotations.NullMarked;
