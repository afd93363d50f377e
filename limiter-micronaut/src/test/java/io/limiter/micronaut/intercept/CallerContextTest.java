// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.intercept;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Verdict;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.Starts;
import io.limiter.micronaut.testing.StoreDecorator;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.event.BeanCreatedEvent;
import io.micronaut.context.event.BeanCreatedEventListener;
import io.micronaut.core.propagation.PropagatedContext;
import io.micronaut.core.propagation.PropagatedContextElement;
import jakarta.inject.Singleton;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.slf4j.MDC;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * The MDC and the propagated context of a thread that may block, in the method that it calls and
 * behind it, though both run on another thread.
 */
class CallerContextTest {

  private static final String SPEC = "CallerContextTest";
  private static final String KEY = "trace";
  private static final String LEAKED = "leaked";

  private final ApplicationContext context = Starts.inMemory(SPEC);
  private final Bean bean = context.getBean(Bean.class);

  @AfterEach
  void close() {
    MDC.clear();
    context.close();
  }

  record Element(String value) implements PropagatedContextElement {}

  /** No decision is there at once. */
  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class LateStore implements BeanCreatedEventListener<LimitStore> {
    @Override
    public LimitStore onCreated(BeanCreatedEvent<LimitStore> event) {
      return new StoreDecorator(event.getBean()) {
        @Override
        public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
          return CompletableFuture.supplyAsync(
                  () -> true, CompletableFuture.delayedExecutor(20, TimeUnit.MILLISECONDS))
              .thenCompose(late -> store.decide(request, mode));
        }
      };
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Bean {

    static String known() {
      String known =
          MDC.get(KEY)
              + '|'
              + PropagatedContext.getOrEmpty().find(Element.class).map(Element::value).orElse("")
              + '|'
              + MDC.get(LEAKED);
      MDC.put(LEAKED, "by a call before");
      return known;
    }

    @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 9_000, time = 60))
    CompletionStage<String> stage() {
      return CompletableFuture.completedFuture(known());
    }

    @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 9_000, time = 60))
    Mono<String> mono() {
      return Mono.fromSupplier(Bean::known);
    }

    @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 9_000, time = 60))
    Flux<String> flux() {
      return Flux.just(known());
    }
  }

  enum Kind {
    STAGE(
        (bean, behind) ->
            behind
                ? bean.stage().thenApply(known -> Bean.known()).toCompletableFuture().join()
                : bean.stage().toCompletableFuture().join()),
    MONO((bean, behind) -> bean.mono().map(known -> behind ? Bean.known() : known).block()),
    FLUX((bean, behind) -> bean.flux().map(known -> behind ? Bean.known() : known).blockLast());

    final BiFunction<Bean, Boolean, String> call;

    Kind(BiFunction<Bean, Boolean, String> call) {
      this.call = call;
    }
  }

  @ParameterizedTest
  @EnumSource
  void isKnownInTheMethod(Kind kind) {
    for (int i = 0; i < 8; i++) { // threads are used again
      String name = "call " + i;
      MDC.put(KEY, name);
      String known =
          PropagatedContext.getOrEmpty()
              .plus(new Element(name))
              .propagate(() -> kind.call.apply(bean, false));
      assertThat(known).isEqualTo(name + '|' + name + "|null");
    }
  }

  @ParameterizedTest
  @EnumSource
  void isKnownBehindTheMethod(Kind kind) {
    MDC.put(KEY, "call");
    String known =
        PropagatedContext.getOrEmpty()
            .plus(new Element("call"))
            .propagate(() -> kind.call.apply(bean, true));
    assertThat(known).startsWith("call|call|");
  }

  @ParameterizedTest
  @EnumSource
  void aThreadKnowsNothingOfTheCallBefore(Kind kind) {
    MDC.put(KEY, "first");
    String unused = kind.call.apply(bean, false);
    MDC.clear();

    assertThat(kind.call.apply(bean, false)).isEqualTo("null||null");
  }
}
