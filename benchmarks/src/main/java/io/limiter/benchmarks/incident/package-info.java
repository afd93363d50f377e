// SPDX-License-Identifier: Apache-2.0
/** An incident of the demo, recorded from its meters, and drawn. */
@NullMarked
package io.limiter.benchmarks.incident;

import org.jspecify.annotations.NullMarked;
