// SPDX-License-Identifier: Apache-2.0
/** IP addresses as bits, the proxies that are trusted, and what their headers tell of a client. */
@NullMarked
package io.limiter.micronaut.address;

import org.jspecify.annotations.NullMarked;
