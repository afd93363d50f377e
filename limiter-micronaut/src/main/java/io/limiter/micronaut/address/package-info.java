// SPDX-License-Identifier: Apache-2.0
/** IP addresses as bits, trusted proxies, and the client addresses that they report. */
@NullMarked
package io.limiter.micronaut.address;

import org.jspecify.annotations.NullMarked;
