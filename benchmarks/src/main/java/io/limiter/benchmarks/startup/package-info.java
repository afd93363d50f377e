// SPDX-License-Identifier: Apache-2.0
/** What the limiter adds to the start of a service. */
@NullMarked
package io.limiter.benchmarks.startup;

import org.jspecify.annotations.NullMarked;
