// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.SubjectResolver;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;
import jakarta.inject.Singleton;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Routes that count each sort of subject; two calls a minute for each. */
@Controller("/subjects")
@Requires(property = "spec.name", value = SubjectRoutes.SPEC)
class SubjectRoutes {

  static final String SPEC = "Subjects";
  static final String KEY = "X-Api-Key";
  static final String TENANT = "X-Tenant";

  private static final String OK = "ok";

  @Get("/ip")
  @RateRule(count = 2, time = 60)
  String ip() {
    return OK;
  }

  @Get("/user")
  @RateLimiter(limitType = LimitType.USER_ID, rules = @RateRule(count = 2, time = 60))
  String user() {
    return OK;
  }

  @Get("/global")
  @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 2, time = 60))
  String global() {
    return OK;
  }

  @Get("/header")
  @RateLimiter(header = KEY, rules = @RateRule(count = 2, time = 60))
  String header() {
    return OK;
  }

  @Get("/argument")
  @RateLimiter(subject = "#{who}", rules = @RateRule(count = 2, time = 60))
  String argument(@QueryValue String who) {
    return OK;
  }

  @Get("/resolver")
  @RateLimiter(resolver = Tenant.class, rules = @RateRule(count = 2, time = 60))
  String resolver() {
    return OK;
  }

  @Get("/resolver-mono")
  @RateLimiter(resolver = Tenant.class, rules = @RateRule(count = 2, time = 60))
  Mono<String> resolverMono() {
    return Mono.just(OK);
  }

  @Get("/resolver-flux")
  @RateLimiter(resolver = Tenant.class, rules = @RateRule(count = 2, time = 60))
  Flux<Map<String, Integer>> resolverFlux() {
    return Flux.just(Map.of("n", 1));
  }

  /** Each user, each key and everybody together. */
  @Get("/several")
  @RateLimiter(
      limitType = LimitType.USER_ID,
      rules = {
        @RateRule(count = 2, time = 60),
        @RateRule(count = 3, time = 60, header = KEY),
        @RateRule(count = 5, time = 60, limitType = LimitType.GLOBAL)
      })
  String several() {
    return OK;
  }

  @Get("/transfer{?from,to}")
  @RateLimiter(
      subject = "#{from}",
      rules = {@RateRule(count = 2, time = 60), @RateRule(count = 2, time = 60, subject = "#{to}")})
  String transfer(@QueryValue String from, @QueryValue String to) {
    return OK;
  }

  @Get("/by-bean{?who}")
  @RateLimiter(
      subject = "#{ctx[io.limiter.micronaut.behaviour.Household].of(who)}",
      rules = @RateRule(count = 2, time = 60))
  String byBean(@Nullable @QueryValue String who) {
    return OK;
  }

  @Get("/by-property{?who}")
  @RateLimiter(subject = "#{env['test.region'] + who}", rules = @RateRule(count = 2, time = 60))
  String byProperty(@QueryValue String who) {
    return OK;
  }

  /** The tenant that the request names. */
  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Tenant implements SubjectResolver {
    @Override
    public Optional<String> resolve(HttpRequest<?> request) {
      String tenant = request.getHeaders().get(TENANT);
      if ("broken".equals(tenant)) {
        throw new IllegalStateException("The directory of tenants is away");
      }
      return Optional.ofNullable("empty".equals(tenant) ? "" : tenant);
    }
  }
}
