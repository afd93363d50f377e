// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.intercept;

import io.limiter.micronaut.config.LimiterConfiguration.GateConfiguration;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.PlanRegistry;
import io.limiter.micronaut.thread.CallerThreads;
import io.micronaut.context.BeanProvider;
import io.micronaut.context.event.BeanCreatedEvent;
import io.micronaut.context.event.BeanCreatedEventListener;
import io.micronaut.core.async.publisher.Publishers;
import io.micronaut.core.type.ReturnType;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.context.ServerRequestContext;
import io.micronaut.http.server.HttpServerConfiguration;
import io.micronaut.inject.ExecutableMethod;
import io.micronaut.inject.MethodExecutionHandle;
import io.micronaut.inject.MethodReference;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.executor.ExecutorSelector;
import io.micronaut.scheduling.executor.ThreadSelection;
import jakarta.inject.Named;
import jakarta.inject.Singleton;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Moves routes that have to wait for their decision off the event loop: those that return their
 * result directly, or stream it, and whose decision needs their arguments. The messages of one
 * WebSocket still run one after another, as on its event loop. An executor that the application
 * names for a route takes precedence.
 */
@Singleton
final class BlockingRoutes implements BeanCreatedEventListener<ExecutorSelector> {

  private final BeanProvider<PlanRegistry> plans;
  private final BeanProvider<ExecutorService> blocking;
  private final BeanProvider<CallerThreads> threads;
  private final GateConfiguration gate;

  BlockingRoutes(
      BeanProvider<PlanRegistry> plans,
      BeanProvider<CallerThreads> threads,
      @Named(TaskExecutors.BLOCKING) BeanProvider<ExecutorService> blocking,
      GateConfiguration gate) {
    this.plans = plans;
    this.threads = threads;
    this.blocking = blocking;
    this.gate = gate;
  }

  /**
   * A proxy, since Micronaut 5 has a method that 4 has no types for: there it asks for the executor
   * of a WebSocket's method, and leaves the method on the event loop if the application configures
   * the event loops, whose threads it does not know as such.
   */
  @Override
  public ExecutorSelector onCreated(BeanCreatedEvent<ExecutorSelector> event) {
    ExecutorSelector applications = event.getBean();
    return (ExecutorSelector)
        Proxy.newProxyInstance(
            ExecutorSelector.class.getClassLoader(),
            new Class<?>[] {ExecutorSelector.class},
            (proxy, called, arguments) -> selected(applications, proxy, called, arguments));
  }

  private @Nullable Object selected(
      ExecutorSelector applications, Object proxy, Method called, Object[] arguments)
      throws Throwable {
    if (called.getName().equals("select") && arguments.length == 2) {
      return select(
          applications,
          (MethodReference<?, ?>) arguments[0],
          (ThreadSelection) Objects.requireNonNull(arguments[1]));
    }
    if (called.getName().equals("selectExecutor")) {
      return arguments[0] instanceof MethodReference<?, ?> method
              && arguments[1] instanceof HttpServerConfiguration server
              && method(method).filter(PlanRegistry::isOfWebSocket).isPresent()
              && waits(method)
          ? select(applications, method, server.getThreadSelection()).orElseThrow()
          : InvocationHandler.invokeDefault(proxy, called, arguments);
    }
    try {
      return called.invoke(applications, arguments);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }

  private Optional<ExecutorService> select(
      ExecutorSelector applications,
      @Nullable MethodReference<?, ?> method,
      ThreadSelection threadSelection) {
    Optional<ExecutorService> chosen = applications.select(method, threadSelection);
    return chosen.isEmpty() && method != null && waits(method)
        ? Optional.of(waiting(method))
        : chosen;
  }

  private ExecutorService waiting(MethodReference<?, ?> reference) {
    return method(reference).filter(PlanRegistry::isOfWebSocket).isPresent()
        ? new OneByOne(threads.get(), blocking.get())
        : blocking.get();
  }

  private static Optional<ExecutableMethod<?, ?>> method(MethodReference<?, ?> reference) {
    if (reference instanceof MethodExecutionHandle<?, ?> handle) {
      return Optional.of(handle.getExecutableMethod());
    }
    return reference instanceof ExecutableMethod<?, ?> method
        ? Optional.of(method)
        : Optional.empty();
  }

  private boolean waits(MethodReference<?, ?> reference) {
    Optional<ExecutableMethod<?, ?>> found = method(reference);
    return found.isPresent() && waits(found.get());
  }

  private boolean waits(ExecutableMethod<?, ?> method) {
    // The guard decides the calls of a WebSocket, and no answer begins with what they stream.
    boolean socket = PlanRegistry.isOfWebSocket(method);
    Optional<LimitPlan> plan = plans.get().of(method);
    return plan.isPresent()
        && (socket || decidedByGuard(plan.get()))
        && (isSynchronous(method.getReturnType()) || (!socket && isStream(method.getReturnType())));
  }

  private boolean decidedByGuard(LimitPlan plan) {
    return !gate.enabled() || !plan.decidedByRequest();
  }

  private static boolean isSynchronous(ReturnType<?> result) {
    return !result.isSuspended() && !result.isAsyncOrReactive();
  }

  private static boolean isStream(ReturnType<?> result) {
    return Publishers.isConvertibleToPublisher(result.getType()) && !result.isSingleResult();
  }

  /** Runs the tasks of one connection one after another. Connections do not wait for each other. */
  private static final class OneByOne extends AbstractExecutorService {

    private final CallerThreads threads;
    private final ExecutorService blocking;

    OneByOne(CallerThreads threads, ExecutorService blocking) {
      this.threads = threads;
      this.blocking = blocking;
    }

    @Override
    public void execute(Runnable task) {
      Optional<HttpRequest<Object>> request = ServerRequestContext.currentRequest();
      threads.oneByOne(
          request.isPresent() ? Optional.of(request.get()) : Optional.empty(), blocking, task);
    }

    @Override
    public void shutdown() {
      throw new UnsupportedOperationException("The executor is shut down with the context");
    }

    @Override
    public List<Runnable> shutdownNow() {
      throw new UnsupportedOperationException("The executor is shut down with the context");
    }

    @Override
    public boolean isShutdown() {
      return blocking.isShutdown();
    }

    @Override
    public boolean isTerminated() {
      return blocking.isTerminated();
    }

    @Override
    public boolean awaitTermination(long timeout, TimeUnit unit) throws InterruptedException {
      return blocking.awaitTermination(timeout, unit);
    }
  }
}
