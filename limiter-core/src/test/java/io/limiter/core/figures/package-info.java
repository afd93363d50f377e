// SPDX-License-Identifier: Apache-2.0
/** What the algorithms take of Redis: {@link io.limiter.core.figures.RedisFigures} measures it. */
package io.limiter.core.figures;
