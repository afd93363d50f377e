// SPDX-License-Identifier: Apache-2.0
/** Checks and documents limits at compile time; for the annotation processor path. */
@NullMarked
package io.limiter.processor;

import org.jspecify.annotations.NullMarked;
