// SPDX-License-Identifier: Apache-2.0
/**
 * Tests of limits with JUnit: {@link io.limiter.test.LimitTest} on the class, {@link
 * io.limiter.test.Limits} for what is admitted and denied, {@link io.limiter.test.TestClock} for
 * the time.
 *
 * @since 0.1.0
 */
@NullMarked
package io.limiter.test;

import org.jspecify.annotations.NullMarked;
