// SPDX-License-Identifier: Apache-2.0
/** What the caller of a limited method gets when it is not entered. */
@NullMarked
package io.limiter.micronaut.exception;

import org.jspecify.annotations.NullMarked;
