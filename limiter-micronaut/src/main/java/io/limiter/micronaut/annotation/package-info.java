// SPDX-License-Identifier: Apache-2.0
/**
 * The annotations for limited methods, and the interfaces that they refer to. They are independent
 * of how a limit is stored.
 *
 * @since 0.1.0
 */
@NullMarked
package io.limiter.micronaut.annotation;

import org.jspecify.annotations.NullMarked;
