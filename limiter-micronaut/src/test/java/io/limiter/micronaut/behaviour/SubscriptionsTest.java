// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.exception.RateLimitExceededException;
import io.limiter.micronaut.intercept.LimitInterceptor;
import io.micronaut.aop.Around;
import io.micronaut.aop.InterceptPhase;
import io.micronaut.aop.InterceptorBean;
import io.micronaut.aop.MethodInterceptor;
import io.micronaut.aop.MethodInvocationContext;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.SignalType;

/** Each subscription to what a limited method returns is a call of it. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class SubscriptionsTest {

  private static final Duration PATIENCE = Duration.ofSeconds(10);

  @AutoClose
  private final TestServer server =
      TestServer.start(SubscribedBean.SPEC, Map.of("test.slow-store", true));

  private final SubscribedBean bean = server.bean(SubscribedBean.class);

  @BeforeEach
  void forget() {
    bean.entered.set(0);
    bean.intercepted.set(0);
    server.clear();
  }

  static Stream<Named<Function<SubscribedBean, Publisher<String>>>> methods() {
    return Stream.of(
        Named.of("Mono", SubscribedBean::mono),
        Named.of("Flux", SubscribedBean::flux),
        Named.of("Publisher", SubscribedBean::publisher));
  }

  @ParameterizedTest
  @MethodSource("methods")
  void eachSubscriptionIsDecidedAndRunsTheInterceptorsBehind(
      Function<SubscribedBean, Publisher<String>> method) {
    Publisher<String> once = method.apply(bean);

    assertThat(all(once)).isEqualTo("ok");
    assertThat(bean.intercepted).hasValue(1);
    assertThat(all(once)).isEqualTo("ok");
    assertThat(bean.intercepted).hasValue(2);
    assertThat(bean.entered).hasValue(2);

    assertThatThrownBy(() -> all(once)).isInstanceOf(RateLimitExceededException.class);
    assertThatThrownBy(() -> all(method.apply(bean)))
        .isInstanceOf(RateLimitExceededException.class);
    assertThat(bean.intercepted).as("a denied call goes no further").hasValue(2);
    assertThat(bean.entered).hasValue(2);
  }

  @ParameterizedTest
  @MethodSource("methods")
  void aPublisherWithoutASubscriberIsNotCounted(
      Function<SubscribedBean, Publisher<String>> method) {
    for (int call = 0; call < 5; call++) {
      assertThat(method.apply(bean)).isNotNull();
    }

    assertThat(bean.entered).hasValue(0);
    assertThat(server.keys().all()).isEmpty();
  }

  @Test
  void anEmptyResultStaysEmptyAndIsCounted() {
    assertThat(bean.empty().blockOptional(PATIENCE)).isEmpty();
    assertThat(bean.empty().blockOptional(PATIENCE)).isEmpty();
    assertThatThrownBy(() -> bean.empty().block(PATIENCE))
        .isInstanceOf(RateLimitExceededException.class);
  }

  @Test
  void aStreamIsPulledAsFastAsItsReaderWants() {
    assertThat(bean.endless().take(3).collectList().block(PATIENCE)).containsExactly(0, 1, 2);
  }

  @Test
  void theApplicationsMonoIsCompletedAndNotCancelled() {
    bean.ending().block(PATIENCE);

    await().until(() -> !bean.ends.isEmpty()); // it ends behind what its reader sees
    assertThat(bean.ends).containsExactly(SignalType.ON_COMPLETE);
  }

  @Test
  void theGuardStandsBehindValidationAndBeforeCaches() {
    assertThat(LimitInterceptor.POSITION)
        .isGreaterThan(InterceptPhase.VALIDATE.getPosition())
        .isLessThan(InterceptPhase.CACHE.getPosition())
        .isLessThan(InterceptPhase.TRANSACTION.getPosition())
        .isLessThan(InterceptPhase.RETRY.getPosition());
    assertThat(server.bean(LimitInterceptor.class).getOrder()).isEqualTo(LimitInterceptor.POSITION);
  }

  private static String all(Publisher<String> publisher) {
    return String.join("", Flux.from(publisher).collectList().block(PATIENCE));
  }

  /** A bean that is no route, with limited methods that return Publishers, and what they did. */
  @Singleton
  @Requires(property = "spec.name", value = SubscribedBean.SPEC)
  static class SubscribedBean {

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
}
