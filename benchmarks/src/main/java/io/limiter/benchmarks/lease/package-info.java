// SPDX-License-Identifier: Apache-2.0
/** Leases of more instances than fit a machine, simulated. */
@NullMarked
package io.limiter.benchmarks.lease;

import org.jspecify.annotations.NullMarked;
