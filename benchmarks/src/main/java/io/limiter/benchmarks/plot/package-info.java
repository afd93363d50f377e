// SPDX-License-Identifier: Apache-2.0
/** Draws results, as SVG that can be read on light and dark pages. */
@NullMarked
package io.limiter.benchmarks.plot;

import org.jspecify.annotations.NullMarked;
