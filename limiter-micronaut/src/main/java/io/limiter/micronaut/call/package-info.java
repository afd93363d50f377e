// SPDX-License-Identifier: Apache-2.0

/** What happens to one call, whichever of gate and guard decides it. */
@NullMarked
package io.limiter.micronaut.call;

import org.jspecify.annotations.NullMarked;
