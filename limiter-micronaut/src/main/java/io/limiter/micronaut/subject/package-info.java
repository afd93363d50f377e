// SPDX-License-Identifier: Apache-2.0
/**
 * Subjects of calls, and the comparison of submissions.
 *
 * @since 0.1.0
 */
@NullMarked
package io.limiter.micronaut.subject;

import org.jspecify.annotations.NullMarked;
