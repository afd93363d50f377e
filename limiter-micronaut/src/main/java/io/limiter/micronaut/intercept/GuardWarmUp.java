// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.intercept;

import io.limiter.core.LimitRequest;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.store.LimitStore;
import io.limiter.core.store.Mode;
import io.limiter.micronaut.call.LimitedCall;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.PlanRegistry;
import io.limiter.micronaut.subject.SubjectSource;
import io.limiter.micronaut.thread.WarmUpStep;
import io.micronaut.aop.Interceptor;
import io.micronaut.aop.MethodInvocationContext;
import io.micronaut.aop.chain.MethodInterceptorChain;
import io.micronaut.context.BeanContext;
import io.micronaut.context.annotation.Executable;
import io.micronaut.http.HttpMethod;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.simple.SimpleHttpRequest;
import io.micronaut.inject.BeanDefinition;
import io.micronaut.inject.ExecutableMethod;
import jakarta.inject.Singleton;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * Enters methods of its own, one of each kind, with an admission by the gate. Where the guard
 * itself decides, the method is one for which an event loop need not wait.
 */
@Singleton
final class GuardWarmUp implements WarmUpStep {

  private final LimitInterceptor interceptor;
  private final GuardedCall.Parts parts;
  private final PlanRegistry plans;
  private final BeanDefinition<GuardWarmUp> own;

  GuardWarmUp(
      BeanContext beans,
      LimitInterceptor interceptor,
      GuardedCall.Parts parts,
      PlanRegistry plans) {
    this.interceptor = interceptor;
    this.parts = parts;
    this.plans = plans;
    this.own = beans.getBeanDefinition(GuardWarmUp.class);
  }

  @Executable
  String plain() {
    return POLICY;
  }

  @Executable
  CompletionStage<String> staged() {
    return CompletableFuture.completedFuture(POLICY);
  }

  @Executable
  Mono<String> published() {
    return Mono.just(POLICY);
  }

  @Override
  public CompletionStage<?> run(LimitStore store) {
    LimitPlan plan = plans.ofWarmUp(false);
    for (String method : new String[] {"plain", "staged", "published"}) {
      HttpRequest<?> request = request();
      LimitedCall.uncharged(plan).attachTo(request);
      if (enter(method, store, plan, request) instanceof Mono<?> mono) {
        var unused = mono.subscribe();
      }
    }
    return enter("staged", store, plan, request()) instanceof CompletionStage<?> decided
        ? decided
        : CompletableFuture.completedFuture(null);
  }

  private static HttpRequest<?> request() {
    return new SimpleHttpRequest<>(HttpMethod.GET, "/" + POLICY, null);
  }

  private @Nullable Object enter(
      String name, LimitStore store, LimitPlan plan, HttpRequest<?> request) {
    @SuppressWarnings("unchecked")
    ExecutableMethod<Object, Object> method =
        (ExecutableMethod<Object, Object>) (ExecutableMethod<?, ?>) own.getRequiredMethod(name);
    @SuppressWarnings({"unchecked", "rawtypes"})
    MethodInvocationContext<Object, Object> invocation =
        new MethodInterceptorChain<>(new Interceptor[] {interceptor}, this, method);
    return interceptor.enter(new WarmUpCall(invocation, plan, request, store), invocation);
  }

  /** A call that another store decides. */
  private final class WarmUpCall extends GuardedCall {

    private final LimitStore store;

    WarmUpCall(
        MethodInvocationContext<Object, Object> invocation,
        LimitPlan plan,
        HttpRequest<?> request,
        LimitStore store) {
      super(parts, invocation, plan, Optional.of(request));
      this.store = store;
    }

    @Override
    public Subject subject(SubjectSource source) {
      return super.subject(new SubjectSource.Everybody());
    }

    @Override
    protected CompletionStage<Verdict> ask(LimitStore usual, LimitRequest charges) {
      return store.decide(charges, Mode.ACQUIRE);
    }

    @Override
    protected boolean isReported() {
      return false;
    }
  }
}
