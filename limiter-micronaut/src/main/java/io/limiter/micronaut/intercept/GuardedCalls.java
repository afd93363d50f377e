// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.intercept;

import io.limiter.core.store.LimitStore;
import io.limiter.micronaut.call.CallEnds;
import io.limiter.micronaut.call.TurnQueue;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.RoutePlans;
import io.limiter.micronaut.thread.CallerThreads;
import io.micronaut.aop.MethodInvocationContext;
import io.micronaut.context.BeanContext;
import io.micronaut.http.context.ServerRequestContext;
import jakarta.inject.Singleton;

/**
 * Begins guarded calls.
 *
 * @param routes tells whether a method is the request's own route
 * @param ends watches over admitted calls
 * @param turns lets them wait for their turn
 * @param beans tells what else the bean of a method has
 */
@Singleton
record GuardedCalls(
    LimitStore store,
    CallSubjects subjects,
    CallerThreads threads,
    RoutePlans routes,
    CallEnds ends,
    TurnQueue turns,
    BeanContext beans) {

  /** Begins a call on the thread that made it, which is where its request is known first. */
  GuardedCall begin(MethodInvocationContext<Object, Object> context, LimitPlan plan) {
    return new GuardedCall(this, context, plan, ServerRequestContext.currentRequest());
  }
}
