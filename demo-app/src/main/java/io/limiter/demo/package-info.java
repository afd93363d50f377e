// SPDX-License-Identifier: Apache-2.0
/** A service that demonstrates the limiter. */
@NullMarked
package io.limiter.demo;

import org.jspecify.annotations.NullMarked;
