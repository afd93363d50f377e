// SPDX-License-Identifier: Apache-2.0

/**
 * What a denied caller receives: error bodies, templates, and messages in the language of the
 * request.
 *
 * @since 0.1.0
 */
@NullMarked
package io.limiter.micronaut.denial;

import org.jspecify.annotations.NullMarked;
