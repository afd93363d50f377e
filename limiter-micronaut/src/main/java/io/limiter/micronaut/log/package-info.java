// SPDX-License-Identifier: Apache-2.0

/** Messages to the operator that are bounded in number. */
@NullMarked
package io.limiter.micronaut.log;

import org.jspecify.annotations.NullMarked;
