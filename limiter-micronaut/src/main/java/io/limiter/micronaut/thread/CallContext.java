// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.thread;

import io.micronaut.core.annotation.Internal;
import io.micronaut.core.async.propagation.ReactorPropagation;
import io.micronaut.core.propagation.PropagatedContext;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.context.ServerHttpRequestContext;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.MDC;
import reactor.util.context.ContextView;

/**
 * The context of a call, captured on the calling thread for the thread that continues the call.
 *
 * @param propagated Micronaut's context
 * @param mdc the thread's mapped diagnostic context; null if there is none
 */
@Internal
public record CallContext(PropagatedContext propagated, @Nullable Map<String, String> mdc) {

  /** An empty context. */
  public static final CallContext NONE = new CallContext(PropagatedContext.empty(), null);

  /** The context of the current thread. */
  public static CallContext current() {
    return new CallContext(PropagatedContext.getOrEmpty(), MDC.getCopyOfContextMap());
  }

  /** The context of a subscriber, else of the current thread. */
  public static CallContext of(ContextView subscriber) {
    return new CallContext(
        ReactorPropagation.findPropagatedContext(subscriber)
            .orElseGet(PropagatedContext::getOrEmpty),
        MDC.getCopyOfContextMap());
  }

  /** This context, with missing parts taken from another. */
  public CallContext or(CallContext other) {
    return new CallContext(
        propagated.getAllElements().isEmpty() ? other.propagated : propagated,
        mdc == null ? other.mdc : mdc);
  }

  /** This context, with a request. */
  public CallContext with(HttpRequest<?> request) {
    Optional<ServerHttpRequestContext> known = propagated.find(ServerHttpRequestContext.class);
    if (known.isPresent() && known.get().httpRequest() == request) {
      return this;
    }
    ServerHttpRequestContext element = new ServerHttpRequestContext(request);
    return new CallContext(
        known.isPresent() ? propagated.replace(known.get(), element) : propagated.plus(element),
        mdc);
  }

  /** Runs a task with this context and restores the thread's own context afterwards. */
  void run(Runnable task) {
    Map<String, String> before = MDC.getCopyOfContextMap();
    set(mdc);
    try (PropagatedContext.Scope ignored = propagated.propagate()) {
      task.run();
    } finally {
      set(before);
    }
  }

  private static void set(@Nullable Map<String, String> mdc) {
    if (mdc == null) {
      MDC.clear();
    } else {
      MDC.setContextMap(mdc);
    }
  }
}
