// SPDX-License-Identifier: Apache-2.0

/**
 * The gate before a limited route, the response filter after it, and the header fields.
 *
 * @since 0.1.0
 */
@NullMarked
package io.limiter.micronaut.http;

import org.jspecify.annotations.NullMarked;
