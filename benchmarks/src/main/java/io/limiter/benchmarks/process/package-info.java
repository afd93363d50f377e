// SPDX-License-Identifier: Apache-2.0
/** Services in processes of their own, from the same jar. */
@NullMarked
package io.limiter.benchmarks.process;

import org.jspecify.annotations.NullMarked;
