// SPDX-License-Identifier: Apache-2.0
/** The planner on generated access logs, beside {@code wc} and {@code awk}. */
@NullMarked
package io.limiter.benchmarks.planner;

import org.jspecify.annotations.NullMarked;
