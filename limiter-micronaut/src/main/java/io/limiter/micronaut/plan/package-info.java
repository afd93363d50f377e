// SPDX-License-Identifier: Apache-2.0

/**
 * The immutable plan of a limited method. Nothing here happens during a call.
 *
 * @since 0.1.0
 */
@NullMarked
package io.limiter.micronaut.plan;

import org.jspecify.annotations.NullMarked;
