// SPDX-License-Identifier: Apache-2.0
/**
 * The exceptions that the caller of a limited method receives when the method is not entered.
 *
 * @since 0.1.0
 */
@NullMarked
package io.limiter.micronaut.exception;

import org.jspecify.annotations.NullMarked;
