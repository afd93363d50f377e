// SPDX-License-Identifier: Apache-2.0
/** What the compiler finds out about limits, for the annotation processor path. */
@NullMarked
package io.limiter.processor;

import org.jspecify.annotations.NullMarked;
