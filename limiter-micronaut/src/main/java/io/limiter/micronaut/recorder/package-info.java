// SPDX-License-Identifier: Apache-2.0
/**
 * Records the decisions on some subjects in a file, which {@code limiter-planner} replays.
 *
 * @since 0.1.0
 */
@NullMarked
package io.limiter.micronaut.recorder;

import org.jspecify.annotations.NullMarked;
