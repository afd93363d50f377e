// SPDX-License-Identifier: Apache-2.0
/** The cost of decisions over Redis, beside those of peers. */
@NullMarked
package io.limiter.benchmarks.engine;

import org.jspecify.annotations.NullMarked;
