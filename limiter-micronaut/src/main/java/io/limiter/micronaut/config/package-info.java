// SPDX-License-Identifier: Apache-2.0
/** What can be set under {@code limiter}. */
@NullMarked
package io.limiter.micronaut.config;

import org.jspecify.annotations.NullMarked;
