// SPDX-License-Identifier: Apache-2.0

/** Outgoing calls: clients that obey the rate limits of other services. */
@NullMarked
package io.limiter.micronaut.client;

import org.jspecify.annotations.NullMarked;
