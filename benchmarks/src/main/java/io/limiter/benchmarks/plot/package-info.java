// SPDX-License-Identifier: Apache-2.0
/** Draws what was found, as SVG that can be read on a light page and on a dark one. */
@NullMarked
package io.limiter.benchmarks.plot;

import org.jspecify.annotations.NullMarked;
