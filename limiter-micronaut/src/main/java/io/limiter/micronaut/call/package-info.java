// SPDX-License-Identifier: Apache-2.0

/**
 * What happens to one call, whether the gate or the guard decides it. {@link
 * io.limiter.micronaut.call.AdmissionControl} asks the store; {@link
 * io.limiter.micronaut.call.LimitedCall} is the state machine of a call:
 *
 * <pre>
 *   decided ──denied──▶ denied                   an exception, or the verdict as an argument
 *      │
 *      ▼ admitted
 *   WAITING ──abandoned──▶ completed             its client leaves, or the service stops, before
 *      │                                         its turn or before its method is entered
 *      ├─ passGate() ──▶ RETURNED                of a method without a guard
 *      ▼ enter()
 *   RUNNING ──response comes first──▶ RUNNING    its permit and guard stay until the method returns
 *      │
 *      ├─▶ RETURNED ─┐
 *      │             ├─ response, or none to come ──▶ completed    by status, result, exception
 *      └─▶ THREW ────┘
 *
 *   any phase ──request over, stream cancelled──▶ completed        unseen
 * </pre>
 *
 * <p>The names in capitals are the phases of a {@code LimitedCall}; whether it is denied, completed
 * or answered, and whether a stream of its method is read, are flags beside them. A completion
 * settles the units once: an abandoned call gives up its place in a queue and gives back all units,
 * except those of other rules that count every call that arrives; one that ended unseen keeps them.
 * The duplicate guard ends with the call: it is released if the method was never entered, or after
 * a failure that {@link io.limiter.micronaut.plan.DuplicateGuard.Release} names, else kept. A
 * response that came before the method had ended is none. That end is written until the store has
 * it.
 *
 * @since 0.1.0
 */
@NullMarked
package io.limiter.micronaut.call;

import org.jspecify.annotations.NullMarked;
