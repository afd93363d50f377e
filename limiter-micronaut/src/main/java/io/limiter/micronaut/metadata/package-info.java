// SPDX-License-Identifier: Apache-2.0

/**
 * Turns annotations and settings into plans, once at the start. Every mistake in an annotation is
 * found here and stops the start with the element, the value and the remedy.
 */
@NullMarked
package io.limiter.micronaut.metadata;

import org.jspecify.annotations.NullMarked;
