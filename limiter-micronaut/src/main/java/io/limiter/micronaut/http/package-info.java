// SPDX-License-Identifier: Apache-2.0

/** The gate in front of a limited route, the response filter behind it, and the header fields. */
@NullMarked
package io.limiter.micronaut.http;

import org.jspecify.annotations.NullMarked;
