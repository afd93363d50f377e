// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.intercept;

import io.micronaut.aop.InterceptPhase;
import io.micronaut.aop.InterceptorBean;
import io.micronaut.aop.MethodInterceptor;
import io.micronaut.aop.MethodInvocationContext;
import io.micronaut.scheduling.annotation.Async;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Sees the end of a limited {@link Async} method that gives nothing back: on the thread that runs
 * it, since for the guard the call is over as soon as that thread is asked for.
 */
@InterceptorBean(Async.class)
final class AsyncCompletion implements MethodInterceptor<Object, Object> {

  /** Behind {@link InterceptPhase#ASYNC}, before {@link InterceptPhase#TRANSACTION}. */
  static final int POSITION = InterceptPhase.ASYNC.getPosition() + 10;

  private static final String ATTRIBUTE = "io.limiter.async";

  /** Runs the rest of a call, and sees to its end. */
  @FunctionalInterface
  interface Rest {
    @Nullable Object run(Supplier<@Nullable Object> method);
  }

  /** Whether the calls of a method end behind what the guard sees of them. */
  static boolean sees(MethodInvocationContext<?, ?> context) {
    return context.getReturnType().isVoid() && context.hasStereotype(Async.class);
  }

  /** Has the call end on the thread that it is handed to. */
  static void handOn(MethodInvocationContext<?, ?> context, Rest rest) {
    context.setAttribute(ATTRIBUTE, rest);
  }

  @Override
  public int getOrder() {
    return POSITION;
  }

  @Override
  public @Nullable Object intercept(MethodInvocationContext<Object, Object> context) {
    return context.getAttribute(ATTRIBUTE).orElse(null) instanceof Rest rest
        ? rest.run(context::proceed)
        : context.proceed();
  }
}
