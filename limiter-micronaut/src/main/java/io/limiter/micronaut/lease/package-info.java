// SPDX-License-Identifier: Apache-2.0
/**
 * {@linkplain io.limiter.core.lease.LeaseStore Leases} in front of Redis, their meters, and their
 * part of the endpoint {@code limits}.
 *
 * @since 0.1.0
 */
@NullMarked
package io.limiter.micronaut.lease;

import org.jspecify.annotations.NullMarked;
