// SPDX-License-Identifier: Apache-2.0
/** Calls of one subject at the same time, in memory: what no interleaving may show. */
@NullMarked
package io.limiter.benchmarks.races;

import org.jspecify.annotations.NullMarked;
