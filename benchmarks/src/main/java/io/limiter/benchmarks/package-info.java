// SPDX-License-Identifier: Apache-2.0
/**
 * The figures of the project, each a ratio of measurements taken in turn on one machine: running
 * them, and reporting them. Each mode is a package of its own.
 */
@NullMarked
package io.limiter.benchmarks;

import org.jspecify.annotations.NullMarked;
