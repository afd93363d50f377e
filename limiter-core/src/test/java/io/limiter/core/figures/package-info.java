// SPDX-License-Identifier: Apache-2.0
/**
 * The cost of the algorithms in Redis: {@link io.limiter.core.figures.RedisFigures} measures it.
 */
package io.limiter.core.figures;
