// SPDX-License-Identifier: Apache-2.0
/**
 * Which thread a call goes on with once the store has answered: never one of the store's, and never
 * one that may wait for that call.
 */
@NullMarked
package io.limiter.micronaut.thread;

import org.jspecify.annotations.NullMarked;
