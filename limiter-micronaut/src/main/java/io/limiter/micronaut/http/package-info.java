// SPDX-License-Identifier: Apache-2.0
/**
 * What the limiter does at the edge: decides before the route, answers refused callers, tells all
 * callers where they stand.
 */
@NullMarked
package io.limiter.micronaut.http;

import org.jspecify.annotations.NullMarked;
