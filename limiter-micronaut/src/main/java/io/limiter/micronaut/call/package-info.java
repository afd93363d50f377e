// SPDX-License-Identifier: Apache-2.0

/**
 * What happens to one call, whether the gate or the guard decides it. {@link
 * io.limiter.micronaut.call.AdmissionControl} asks the store; {@link
 * io.limiter.micronaut.call.LimitedCall} is the state machine of a call:
 *
 * <pre>
 *   decided ──denied──▶ OVER                     an exception, or the verdict as an argument
 *      │
 *      ▼ admitted
 *   WAITING ──abandoned──▶ OVER                  its client leaves, or the service stops, before
 *      │                                         its turn or before its method is entered
 *      ├─ passGate() ──▶ RETURNED                of a method without a guard
 *      ▼ enter()
 *   RUNNING ──response comes first──▶ RUNNING    its permit and guard stay until the method returns
 *      │
 *      ├─▶ RETURNED ─┐
 *      │             ├─ response, or none to come ──▶ OVER         by status, result, exception
 *      └─▶ THREW ────┘
 *
 *   any phase ──request over, stream cancelled──▶ OVER             unseen
 * </pre>
 *
 * <p>The names in capitals are the phases of a {@code LimitedCall}; a completed one is OVER. A
 * completion settles the units once: an abandoned call gives up its place in a queue and gives back
 * all units, except those of other rules that count every call that arrives; one that ended unseen
 * keeps them.
 *
 * <p>What else an admitted call holds are its {@link io.limiter.micronaut.call.CallState}s: permits
 * ({@link io.limiter.micronaut.call.CallsInFlight}), its duplicate guard, and what a stream has
 * cost. Each {@link io.limiter.micronaut.call.CallPart} makes one for the plans that it serves, and
 * each ends with the call, by the phase in which that has ended.
 *
 * @since 0.1.0
 */
@NullMarked
package io.limiter.micronaut.call;

import org.jspecify.annotations.NullMarked;
