// SPDX-License-Identifier: Apache-2.0

/**
 * What happens to one call, whether the gate or the guard decides it. {@link
 * io.limiter.micronaut.call.AdmissionControl} asks the store; {@link
 * io.limiter.micronaut.call.LimitedCall} is the state machine of a call:
 *
 * <pre>
 *   decided ──denied──▶ DENIED                        an exception, or the verdict as an argument
 *      │
 *      ▼ admitted
 *   WAITING ──client leaves, service stops──▶ abandoned   units refunded, guard released
 *      │                                                  (the turn of a leaky bucket, the gate's
 *      ▼ enter()                                          admission before its method is entered)
 *   RUNNING ──response comes first──▶ RUNNING, answered   the permit stays until the method returns
 *      │
 *      ├─▶ RETURNED ─┐
 *      │             ├─ response, or none to come ──▶ completed   settled by status, result or
 *      └─▶ THREW ────┘                                            exception
 *
 *   request over, stream cancelled: completed as unknown
 *   guard: released at the first of: never entered, a failure that {@code GuardRelease} names
 * </pre>
 */
@NullMarked
package io.limiter.micronaut.call;

import org.jspecify.annotations.NullMarked;
