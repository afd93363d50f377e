// SPDX-License-Identifier: Apache-2.0
/**
 * What decides {@linkplain io.limiter.core.outage.FallbackStore while Redis does not answer}, with
 * its meters and its part of the health endpoint.
 *
 * @since 0.1.0
 */
@NullMarked
package io.limiter.micronaut.outage;

import org.jspecify.annotations.NullMarked;
