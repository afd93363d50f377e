// SPDX-License-Identifier: Apache-2.0
/** The cost of decisions in memory, beside those of peers. */
@NullMarked
package io.limiter.benchmarks.memory;

import org.jspecify.annotations.NullMarked;
