// SPDX-License-Identifier: Apache-2.0

/** The immutable plan of a limited method. Nothing here happens during a call. */
@NullMarked
package io.limiter.micronaut.plan;

import org.jspecify.annotations.NullMarked;
