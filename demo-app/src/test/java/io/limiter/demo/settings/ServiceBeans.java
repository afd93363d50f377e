// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo.settings;

import io.limiter.micronaut.annotation.CountCondition;
import io.limiter.micronaut.annotation.LimitCondition;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.ResultCost;
import io.limiter.micronaut.annotation.SubjectResolver;
import io.limiter.micronaut.annotation.Tiers;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;
import jakarta.inject.Named;
import jakarta.inject.Singleton;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import reactor.core.publisher.Flux;

/** What a service has and the demo has not: beans that settings name. */
final class ServiceBeans {

  private ServiceBeans() {}

  /** Only processes of {@link PackedService} have these beans, no other test of the demo. */
  static final String REQUIRED = "settings.beans";

  @Singleton
  @Requires(property = REQUIRED)
  static final class TiersByHeader implements Tiers {

    @Override
    public CompletionStage<String> of(HttpRequest<?> request) {
      return CompletableFuture.completedFuture(request.getHeaders().get("X-Tier"));
    }
  }

  @Singleton
  @Named("by-who")
  @Requires(property = REQUIRED)
  static final class SubjectByHeader implements SubjectResolver {

    @Override
    public Optional<String> resolve(HttpRequest<?> request) {
      return Optional.ofNullable(request.getHeaders().get("X-Who"));
    }
  }

  @Singleton
  @Named("not-free")
  @Requires(property = REQUIRED)
  static final class NotFree implements LimitCondition {

    @Override
    public boolean limits(HttpRequest<?> request) {
      return !request.getHeaders().contains("X-Free");
    }
  }

  @Singleton
  @Named("missing")
  @Requires(property = REQUIRED)
  static final class Missing implements CountCondition {

    @Override
    public boolean counts(int status, Object result) {
      return status == 404;
    }
  }

  @Singleton
  @Requires(property = REQUIRED)
  static final class OneForEach implements ResultCost {

    @Override
    public long of(Object item) {
      return 1;
    }
  }

  @Controller
  @Requires(property = REQUIRED)
  static class Routes {

    private final ApplicationContext context;

    Routes(ApplicationContext context) {
      this.context = context;
    }

    /** Limited by settings alone. */
    @Get("/t/{name}{?status}")
    HttpResponse<String> answer(String name, Optional<Integer> status) {
      return HttpResponse.<String>status(status.orElse(200), name).body(name);
    }

    @Get("/passcodes")
    @RateLimiter(value = "passcodes", rules = @RateRule(count = 3))
    String passcode() {
      return "sent";
    }

    /** A name of a variable may mean this one or the next. */
    @Get("/dots")
    @RateLimiter(value = "with.dots", rules = @RateRule(count = 3))
    String dots() {
      return "ok";
    }

    @Get("/hyphens")
    @RateLimiter(value = "with-dots", rules = @RateRule(count = 3))
    String hyphens() {
      return "ok";
    }

    @Get("/streamed")
    @RateLimiter(
        value = "streamed",
        header = "X-Key",
        cost = "1",
        resultCost = OneForEach.class,
        rules = @RateRule(count = 5))
    Flux<String> streamed() {
      return Flux.just("a", "b", "c", "d", "e", "f", "g");
    }

    /** The gate counts a call without the argument, the guard does not. */
    @Get("/argument")
    @RateLimiter(value = "argument", rules = @RateRule(count = 5))
    String argument(@QueryValue String needed) {
      return needed;
    }

    /** Settings whose effect takes long to see, as they reach the beans that have them. */
    @Get("/beans")
    List<String> beans() throws IllegalAccessException {
      List<String> values = new ArrayList<>();
      for (var definition : context.getAllBeanDefinitions()) {
        if (definition.hasStereotype(ConfigurationProperties.class)
            && definition.getBeanType().getName().startsWith("io.limiter.")
            && context.containsBean(definition.getBeanType())) {
          Object bean = context.getBean(definition);
          for (Field field : bean.getClass().getDeclaredFields()) {
            if (field.trySetAccessible()) {
              values.add(String.valueOf(field.get(bean)));
            }
          }
        }
      }
      return values;
    }
  }
}
