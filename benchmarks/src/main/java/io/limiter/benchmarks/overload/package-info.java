// SPDX-License-Identifier: Apache-2.0
/** Limits of calls in flight under overload, in simulated time. */
@NullMarked
package io.limiter.benchmarks.overload;

import org.jspecify.annotations.NullMarked;
