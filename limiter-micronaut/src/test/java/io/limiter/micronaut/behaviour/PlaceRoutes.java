// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.NoRateLimit;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Error;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import jakarta.inject.Singleton;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** Routes whose limits stand elsewhere than on the route. */
final class PlaceRoutes {

  static final String SPEC = "LimitPlaces";

  private PlaceRoutes() {}

  /** A rule for each route. */
  @Controller("/shop")
  @Requires(property = "spec.name", value = SPEC)
  @RateRule(count = 2)
  static class Shop {
    private final Stock stock;

    Shop(Stock stock) {
      this.stock = stock;
    }

    @Get("/list")
    String list() {
      return "ok";
    }

    @Get("/buy")
    @RateRule(count = 1)
    String buy() {
      return "ok";
    }

    @Get("/status")
    @NoRateLimit
    String status() {
      return "ok";
    }

    @Get("/fail")
    String fail() {
      throw new IllegalStateException("for the error route");
    }

    @Error
    HttpResponse<String> answer(IllegalStateException error) {
      return HttpResponse.unprocessableEntity();
    }

    @Get("/helped")
    String helped() {
      return helper();
    }

    String helper() {
      return "ok";
    }

    @RateRule(count = 1, limitType = LimitType.GLOBAL)
    String limitedHelper() {
      return "ok";
    }

    /** A call of a method that has a limit of its own, on the bean itself. */
    @Get("/self")
    @NoRateLimit
    @ExecuteOn(TaskExecutors.BLOCKING)
    String self() {
      return limitedHelper();
    }

    /** A call of a route, on the bean itself. */
    @Get("/self-route")
    @NoRateLimit
    @ExecuteOn(TaskExecutors.BLOCKING)
    String selfRoute() {
      return buy();
    }

    /** A call on the bean itself, on an event loop. */
    @Get("/self-on-loop")
    @NoRateLimit
    String selfOnLoop() {
      return limitedHelper();
    }

    /** A limited method of another bean, on a thread that may wait for its decision. */
    @Get("/stock")
    @NoRateLimit
    @ExecuteOn(TaskExecutors.BLOCKING)
    String stock() {
      return stock.count();
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 1))
  static class Stock {
    String count() {
      return "ok";
    }
  }

  /** One limit for all routes, and what single routes have besides. */
  @Controller("/keyed")
  @Requires(property = "spec.name", value = SPEC)
  @RateLimiter(key = "keyed", rules = @RateRule(count = 3))
  static class Keyed {
    @Get("/first")
    String first() {
      return "ok";
    }

    @Get("/second")
    String second() {
      return "ok";
    }

    @Get("/own")
    @RateRule(count = 1, time = 30)
    String own() {
      return "ok";
    }

    @Get("/argument/{id}")
    @RateRule(count = 1, subject = "#{id}")
    String argument(String id) {
      return "ok";
    }
  }

  @RateRule(count = 3)
  interface Declared {
    @Get("/ruled")
    @RateRule(count = 1)
    String ruled();

    @Get("/plain")
    String plain();

    @Get("/default")
    default String byDefault() {
      return "ok";
    }
  }

  abstract static class Base {
    @Get("/inherited")
    @RateRule(count = 2)
    String inherited() {
      return "ok";
    }
  }

  /** Routes that an interface declares, limited by it and by the class. */
  @Controller("/declared")
  @Requires(property = "spec.name", value = SPEC)
  @RateRule(count = 2, time = 30)
  static class Implemented extends Base implements Declared {
    @Override
    public String ruled() {
      return "ok";
    }

    @Override
    public String plain() {
      return "ok";
    }
  }

  @Retention(RetentionPolicy.RUNTIME)
  @Inherited
  @RateLimiter(header = "X-Api-Key", rules = @RateRule(count = 1))
  @interface EachKey {}

  @Retention(RetentionPolicy.RUNTIME)
  @RateLimiter(subject = "#{id}", rules = @RateRule(count = 1))
  @interface EachId {}

  /** Limits of annotations of one's own, on a class and on a method. */
  @Controller("/composed")
  @Requires(property = "spec.name", value = SPEC)
  @EachKey
  static class Composed {
    @Get("/key")
    String key() {
      return "ok";
    }

    @Get("/id/{id}")
    @EachId
    String id(String id) {
      return "ok";
    }
  }

  /** Five a minute for each caller, twenty for all. */
  @Controller("/stacked")
  @Requires(property = "spec.name", value = SPEC)
  static class Stacked {
    @Get("/request")
    @RateLimiter(header = "X-Api-Key", rules = @RateRule(count = 5))
    @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 20))
    String request() {
      return "ok";
    }

    @Get("/argument")
    @RateRule(count = 5, subject = "#{who}")
    @RateRule(count = 20, limitType = LimitType.GLOBAL)
    String argument(@QueryValue String who) {
      return "ok";
    }
  }
}
