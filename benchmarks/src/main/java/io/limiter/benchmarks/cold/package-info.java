// SPDX-License-Identifier: Apache-2.0
/** Whether Redis decides while it answers: right after a start, and on a busy machine. */
@NullMarked
package io.limiter.benchmarks.cold;

import org.jspecify.annotations.NullMarked;
