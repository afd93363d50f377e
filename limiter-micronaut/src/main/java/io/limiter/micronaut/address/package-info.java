// SPDX-License-Identifier: Apache-2.0
/**
 * IP addresses as bits, trusted proxies, and the client addresses that they report.
 *
 * @since 0.1.0
 */
@NullMarked
package io.limiter.micronaut.address;

import org.jspecify.annotations.NullMarked;
