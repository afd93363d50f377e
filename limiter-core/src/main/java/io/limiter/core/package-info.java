// SPDX-License-Identifier: Apache-2.0
/**
 * The engine: rules and policies, whom they count, what a decision answers, and the contract of a
 * store. It knows nothing of HTTP, of Redis or of any framework.
 */
@NullMarked
package io.limiter.core;

import org.jspecify.annotations.NullMarked;
