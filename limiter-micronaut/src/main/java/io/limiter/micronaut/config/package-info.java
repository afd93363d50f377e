// SPDX-License-Identifier: Apache-2.0
/**
 * The settings under {@code limiter}.
 *
 * @since 0.1.0
 */
@NullMarked
package io.limiter.micronaut.config;

import org.jspecify.annotations.NullMarked;
