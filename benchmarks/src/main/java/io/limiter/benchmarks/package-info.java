// SPDX-License-Identifier: Apache-2.0
/**
 * The figures of the project, each a ratio of things measured in turn on one machine: what runs
 * them, and how they are reported. Each mode is a package of its own.
 */
@NullMarked
package io.limiter.benchmarks;

import org.jspecify.annotations.NullMarked;
