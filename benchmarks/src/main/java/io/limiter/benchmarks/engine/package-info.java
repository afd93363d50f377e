// SPDX-License-Identifier: Apache-2.0
/** What decisions over Redis cost, beside those of peers. */
@NullMarked
package io.limiter.benchmarks.engine;

import org.jspecify.annotations.NullMarked;
