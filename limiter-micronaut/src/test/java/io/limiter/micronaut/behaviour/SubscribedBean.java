// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.aop.Around;
import io.micronaut.aop.InterceptorBean;
import io.micronaut.aop.MethodInterceptor;
import io.micronaut.aop.MethodInvocationContext;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.SignalType;

/** A bean that is no route, with limited methods that return Publishers, and what they did. */
@Singleton
@Requires(property = "spec.name", value = SubscribedBean.SPEC)
class SubscribedBean {

  static final String SPEC = "SubscribedBean";

  final AtomicInteger entered = new AtomicInteger();
  final AtomicInteger intercepted = new AtomicInteger();
  final List<SignalType> ends = new CopyOnWriteArrayList<>();

  /** An interceptor of the application, inside of the guard as caches and transactions are. */
  @Around
  @Retention(RetentionPolicy.RUNTIME)
  @interface Counted {}

  /** Counts what passes it. */
  @Singleton
  @InterceptorBean(Counted.class)
  @Requires(property = "spec.name", value = SPEC)
  static class CountingInterceptor implements MethodInterceptor<Object, Object> {
    @Override
    public Object intercept(MethodInvocationContext<Object, Object> context) {
      ((SubscribedBean) context.getTarget()).intercepted.incrementAndGet();
      return context.proceed();
    }
  }

  @Counted
  @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 2, time = 60))
  Mono<String> mono() {
    entered.incrementAndGet();
    return Mono.just("ok");
  }

  @Counted
  @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 2, time = 60))
  Flux<String> flux() {
    entered.incrementAndGet();
    return Flux.just("o", "k");
  }

  @Counted
  @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 2, time = 60))
  Publisher<String> publisher() {
    entered.incrementAndGet();
    return Flux.just("o", "k");
  }

  @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 2, time = 60))
  Mono<String> ending() {
    return Mono.just("ok").doFinally(ends::add);
  }

  @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 2, time = 60))
  Mono<String> empty() {
    return Mono.empty();
  }

  @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 2, time = 60))
  Flux<Integer> endless() {
    return Flux.range(0, Integer.MAX_VALUE);
  }
}
