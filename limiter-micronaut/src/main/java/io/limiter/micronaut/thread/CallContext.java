// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.thread;

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
 * What a thread knows of the call that it makes, for the thread that goes on with it.
 *
 * @param propagated Micronaut's context
 * @param mdc what log lines of the thread bear; null if there is nothing
 */
public record CallContext(PropagatedContext propagated, @Nullable Map<String, String> mdc) {

  /** That of a thread that knows nothing. */
  public static final CallContext NONE = new CallContext(PropagatedContext.empty(), null);

  /** That of the current thread. */
  public static CallContext current() {
    return new CallContext(PropagatedContext.getOrEmpty(), MDC.getCopyOfContextMap());
  }

  /** That of a subscriber, with what the current thread knows where it brings none of its own. */
  public static CallContext of(ContextView subscriber) {
    return new CallContext(
        ReactorPropagation.findPropagatedContext(subscriber)
            .orElseGet(PropagatedContext::getOrEmpty),
        MDC.getCopyOfContextMap());
  }

  /** The same, with another's in place of what is not known. */
  public CallContext or(CallContext other) {
    return new CallContext(
        propagated.getAllElements().isEmpty() ? other.propagated : propagated,
        mdc == null ? other.mdc : mdc);
  }

  /** The same, in the name of a request. */
  public CallContext with(HttpRequest<?> request) {
    Optional<ServerHttpRequestContext> known = propagated.find(ServerHttpRequestContext.class);
    if (known.isPresent() && known.get().httpRequest() == request) {
      return this;
    }
    ServerHttpRequestContext told = new ServerHttpRequestContext(request);
    return new CallContext(
        known.isPresent() ? propagated.replace(known.get(), told) : propagated.plus(told), mdc);
  }

  /** Runs a task with it, and leaves the thread as it was. */
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
