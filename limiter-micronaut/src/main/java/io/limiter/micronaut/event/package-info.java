// SPDX-License-Identifier: Apache-2.0

/**
 * What an application can listen to: {@link io.limiter.micronaut.event.LimiterEvent}, published off
 * the event loops.
 *
 * @since 0.1.0
 */
@NullMarked
package io.limiter.micronaut.event;

import org.jspecify.annotations.NullMarked;
