// SPDX-License-Identifier: Apache-2.0

/**
 * What a denied caller receives: error bodies, templates, and messages in the language of the
 * request.
 */
@NullMarked
package io.limiter.micronaut.denial;

import org.jspecify.annotations.NullMarked;
