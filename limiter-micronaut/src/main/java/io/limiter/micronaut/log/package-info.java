// SPDX-License-Identifier: Apache-2.0

/** Log messages that are bounded in number. */
@NullMarked
package io.limiter.micronaut.log;

import org.jspecify.annotations.NullMarked;
