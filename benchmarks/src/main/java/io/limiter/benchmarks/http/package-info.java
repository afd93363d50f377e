// SPDX-License-Identifier: Apache-2.0
/** Drives the service from outside, over HTTP, and compares its routes. */
@NullMarked
package io.limiter.benchmarks.http;

import org.jspecify.annotations.NullMarked;
