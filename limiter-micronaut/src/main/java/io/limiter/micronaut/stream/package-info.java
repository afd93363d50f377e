// SPDX-License-Identifier: Apache-2.0

/**
 * A room: what the items of a stream cost, taken in steps while it runs. {@link
 * io.limiter.micronaut.stream.StreamCosts} is the part of calls that the kernel finds as a bean.
 *
 * @since 0.1.0
 */
@NullMarked
package io.limiter.micronaut.stream;

import org.jspecify.annotations.NullMarked;
