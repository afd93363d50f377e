// SPDX-License-Identifier: Apache-2.0
/** A service with limits to run and look at. */
@NullMarked
package io.limiter.demo;

import org.jspecify.annotations.NullMarked;
