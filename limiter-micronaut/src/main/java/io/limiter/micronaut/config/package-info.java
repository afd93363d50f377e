// SPDX-License-Identifier: Apache-2.0
/** The settings under {@code limiter}. */
@NullMarked
package io.limiter.micronaut.config;

import org.jspecify.annotations.NullMarked;
