// SPDX-License-Identifier: Apache-2.0
/** What the limiter sends to a server, step by step. */
@NullMarked
package io.limiter.benchmarks.check;

import org.jspecify.annotations.NullMarked;
