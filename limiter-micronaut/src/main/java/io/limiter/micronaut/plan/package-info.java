// SPDX-License-Identifier: Apache-2.0
/**
 * What the annotations of a method come to: read once, when the context starts, and shared by the
 * two places that decide, the gate before the route and the guard around the method.
 */
@NullMarked
package io.limiter.micronaut.plan;

import org.jspecify.annotations.NullMarked;
