// SPDX-License-Identifier: Apache-2.0
/** What decisions in memory cost, beside those of peers. */
@NullMarked
package io.limiter.benchmarks.memory;

import org.jspecify.annotations.NullMarked;
