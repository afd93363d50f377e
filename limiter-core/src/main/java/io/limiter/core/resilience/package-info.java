// SPDX-License-Identifier: Apache-2.0
/**
 * Stores around stores: what happens when one of them does not answer. Each can be read, tested and
 * left out alone.
 */
@NullMarked
package io.limiter.core.resilience;

import org.jspecify.annotations.NullMarked;
