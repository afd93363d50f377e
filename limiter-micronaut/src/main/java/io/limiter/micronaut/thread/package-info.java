// SPDX-License-Identifier: Apache-2.0
/**
 * Chooses the thread on which a call continues once the store has answered: never a thread of the
 * store, and never one that may wait for that call.
 *
 * @since 0.1.0
 */
@NullMarked
package io.limiter.micronaut.thread;

import org.jspecify.annotations.NullMarked;
