// SPDX-License-Identifier: Apache-2.0

/**
 * The immutable plan of a limited method, and what it makes of the values of a call.
 *
 * @since 0.1.0
 */
@NullMarked
package io.limiter.micronaut.plan;

import org.jspecify.annotations.NullMarked;
