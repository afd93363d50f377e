// SPDX-License-Identifier: Apache-2.0
/**
 * A service for any load generator: the same method without a limit and with limits of each kind.
 */
@NullMarked
package io.limiter.benchmarks.server;

import org.jspecify.annotations.NullMarked;
