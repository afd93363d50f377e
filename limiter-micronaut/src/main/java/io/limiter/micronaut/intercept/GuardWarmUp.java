// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.intercept;

import io.limiter.core.store.LimitStore;
import io.limiter.micronaut.call.AdmissionControl;
import io.limiter.micronaut.call.CallerPlans;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.PlanRegistry;
import io.limiter.micronaut.subject.RequestSubjects;
import io.limiter.micronaut.subject.SubmissionDigest;
import io.limiter.micronaut.thread.CallerThreads;
import io.limiter.micronaut.thread.Continuations;
import io.limiter.micronaut.thread.WarmUpStep;
import io.micronaut.aop.Interceptor;
import io.micronaut.aop.MethodInvocationContext;
import io.micronaut.aop.chain.MethodInterceptorChain;
import io.micronaut.context.BeanContext;
import io.micronaut.context.BeanProvider;
import io.micronaut.context.annotation.Executable;
import io.micronaut.core.type.Argument;
import io.micronaut.http.HttpMethod;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.simple.SimpleHttpRequest;
import io.micronaut.inject.BeanDefinition;
import io.micronaut.inject.ExecutableMethod;
import io.micronaut.json.JsonMapper;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * Runs the guard around methods of its own, of each kind: with an admission by the gate and, where
 * an event loop need not block for it, with a decision of the guard.
 */
@Singleton
final class GuardWarmUp implements WarmUpStep {

  private static final Argument<?>[] ARGUMENTS = {
    Argument.of(String.class, "text"), Argument.of(int.class, "number")
  };

  private final BeanContext beans;
  private final LimitInterceptor interceptor;
  private final AdmissionControl admission;
  private final CallerPlans callers;
  private final PlanRegistry plans;
  private final Continuations continuations;
  private final CallSubjects subjects;
  private final Optional<SubmissionDigest> digest;
  private final List<ExecutableMethod<Object, Object>> methods;

  GuardWarmUp(
      BeanContext beans,
      LimitInterceptor interceptor,
      AdmissionControl admission,
      CallerPlans callers,
      PlanRegistry plans,
      BeanProvider<SubmissionDigest> digests,
      Continuations continuations) {
    this.beans = beans;
    this.interceptor = interceptor;
    this.admission = admission;
    this.callers = callers;
    this.plans = plans;
    this.continuations = continuations;
    this.subjects = new CallSubjects(new RequestSubjects(request -> POLICY), digests);
    this.digest =
        beans.containsBean(JsonMapper.class) ? Optional.of(digests.get()) : Optional.empty();
    BeanDefinition<GuardWarmUp> own = beans.getBeanDefinition(GuardWarmUp.class);
    this.methods =
        List.of(
            executable(own.getRequiredMethod("plain")),
            executable(own.getRequiredMethod("staged")),
            executable(own.getRequiredMethod("published")));
  }

  @SuppressWarnings("unchecked")
  private static ExecutableMethod<Object, Object> executable(ExecutableMethod<?, ?> method) {
    return (ExecutableMethod<Object, Object>) method;
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
  public CompletionStage<?> run(LimitStore store, Executor home) {
    CallerThreads threads = new CallerThreads(List.of(request -> Optional.of(home)), continuations);
    GuardedCall.Parts parts =
        new GuardedCall.Parts(admission.with(store, threads), subjects, callers, plans, beans);
    // Of this run alone: another may have used up what the plan allows.
    String limit = POLICY + '.' + Long.toHexString(ThreadLocalRandom.current().nextLong());
    LimitPlan plan = LimitPlan.ofWarmUp(limit, false, DenialText.NONE);
    for (ExecutableMethod<Object, Object> method : methods) {
      HttpRequest<?> admitted = request();
      var unused = AdmissionControl.admitUncharged(plan, admitted);
      enter(parts, plan, method, admitted);
    }
    if (digest.isPresent()) {
      var unused = digest.get().of(POLICY, ARGUMENTS, new Object[] {POLICY, 1}, List.of(0, 1));
    }
    return decided(parts, plan)
        .thenCompose(admitted -> decided(parts, plan))
        .handle((admitted, thrown) -> denied(thrown));
  }

  /** A call that the gate has not decided, of a method that need not wait. */
  private CompletionStage<?> decided(GuardedCall.Parts parts, LimitPlan plan) {
    return enter(parts, plan, methods.get(1), request()) instanceof CompletionStage<?> result
        ? result
        : CompletableFuture.completedFuture(null);
  }

  private @Nullable Object enter(
      GuardedCall.Parts parts,
      LimitPlan plan,
      ExecutableMethod<Object, Object> method,
      HttpRequest<?> request) {
    @SuppressWarnings({"unchecked", "rawtypes"})
    MethodInvocationContext<Object, Object> context =
        new MethodInterceptorChain<>(new Interceptor[] {interceptor}, this, method);
    Object result =
        interceptor.enter(new GuardedCall(parts, context, plan, Optional.of(request)), context);
    if (result instanceof Mono<?> mono) {
      var unusedResult = mono.subscribe();
    }
    return result;
  }

  private static HttpRequest<?> request() {
    return new SimpleHttpRequest<>(HttpMethod.GET, "/" + POLICY, null);
  }

  /** The second call has to be denied; any other failure is one of the warm-up. */
  private static Boolean denied(@Nullable Throwable thrown) {
    Throwable cause = thrown instanceof CompletionException ? thrown.getCause() : thrown;
    if (cause == null || cause instanceof LimitDeniedException) {
      return cause != null;
    }
    throw new CompletionException(cause);
  }
}
