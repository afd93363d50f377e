// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.SubjectResolver;
import io.limiter.micronaut.testing.StatedCallers;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;
import jakarta.inject.Singleton;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Who is counted: each sort of subject by itself. */
class SubjectsTest extends WithAndWithoutGate {

  SubjectsTest() {
    super(
        SubjectRoutes.SPEC,
        Map.of(
            "test.stated-callers",
            true,
            "test.region",
            "eu-",
            "limiter.policies.configured.limit-type",
            "ip",
            "limiter.policies.configured.header",
            SubjectRoutes.CLIENT));
  }

  @ParameterizedTest
  @CsvSource({
    "ip, X-Address, 192.0.2.8, 192.0.2.9",
    "user, X-User, ada, bob",
    "header, X-Api-Key, k-1, k-2",
    "resolver, X-Tenant, acme, apex",
    "resolver-mono, X-Tenant, acme, apex",
    "resolver-flux, X-Tenant, acme, apex"
  })
  void eachSubjectOfARequestHasItsOwnLimit(String route, String header, String one, String other) {
    assertTwoAdmitted(route, header, one);
    assertTwoAdmitted(route, header, other);
    assertThat(call(route, header, one)).isEqualTo(429);
    assertThat(server.keys().all()).hasSize(2);
  }

  @Test
  void eachArgumentHasItsOwnLimit() {
    assertTwoAdmitted("argument?who=ada");
    assertTwoAdmitted("argument?who=bob");
    assertThat(call("argument?who=ada")).isEqualTo(429);
  }

  @Test
  void everybodyHasOneLimit() {
    assertThat(call("global", "X-User", "ada", "X-Address", "192.0.2.8")).isEqualTo(200);
    assertThat(call("global", "X-User", "bob", "X-Address", "192.0.2.9")).isEqualTo(200);

    assertThat(call("global", "X-User", "eve", "X-Address", "192.0.2.10")).isEqualTo(429);
    assertThat(server.keys().all()).hasSize(1);
  }

  @Test
  void anAddressMattersOnlyWhereItIsCounted() {
    assertTwoAdmitted("user", "X-User", "ada", "X-Address", "192.0.2.8");

    assertThat(call("user", "X-User", "ada", "X-Address", "192.0.2.9")).isEqualTo(429);
  }

  @Test
  void theNameOfAHeaderHasNoCaseAndItsValueHas() {
    assertTwoAdmitted("header", "x-api-KEY", "abc");

    assertThat(call("header", "X-Api-Key", "abc")).isEqualTo(429);
    assertThat(call("header", "X-Api-Key", "ABC")).isEqualTo(200);
  }

  @ParameterizedTest
  @ValueSource(strings = {"header", "header-ip"})
  void aHeaderThatCountsCallsHasOneLineSinceOneOfTwoMayBeTheClients(String route) {
    String header = route.equals("header") ? SubjectRoutes.KEY : SubjectRoutes.CLIENT;
    assertThat(call(route, header, "192.0.2.1", header, "192.0.2.2")).isEqualTo(400);
    assertThat(call(route, header, "", header, "192.0.2.2")).isEqualTo(400);

    assertThat(server.keys().all()).isEmpty();
    assertTwoAdmitted(route, header, "192.0.2.1");
  }

  @ParameterizedTest
  @CsvSource({
    "2001:db8:1:2::1, 2001:db8:1:2:ffff::2",
    "2001:db8:1:2::1, [2001:DB8:1:2::9]:4711",
    "2001:db8:1:2::1, \"[2001:db8:1:2::3]\"",
    "fe80::1%eth0, fe80::2%25",
    "192.0.2.1, 192.0.2.1:80",
    "192.0.2.1, ::ffff:192.0.2.1",
    "192.0.2.1, 64:ff9b::192.0.2.1"
  })
  void anAddressInAHeaderIsCountedLikeThatOfAClient(String one, String other) {
    assertThat(call("header-ip", SubjectRoutes.CLIENT, one)).isEqualTo(200);
    assertThat(call("header-ip", SubjectRoutes.CLIENT, other)).isEqualTo(200);

    assertThat(call("header-ip", SubjectRoutes.CLIENT, one)).isEqualTo(429);
    assertThat(call("header-ip", SubjectRoutes.CLIENT, "2001:db8:1:3::1")).isEqualTo(200);
    assertThat(server.keys().all()).hasSize(2);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "unknown",
        "192.0.2.1, 192.0.2.2",
        "192.0.2.01",
        "192.0.2.1:99999",
        "[::1",
        "::1]"
      })
  void whatIsNoAddressInAHeaderIsCountedByTheAddressOfTheClient(String value) {
    assertThat(call("header-ip", SubjectRoutes.CLIENT, value)).isEqualTo(200);
    assertThat(call("header-ip", SubjectRoutes.CLIENT, "something else")).isEqualTo(200);

    assertThat(call("header-ip", SubjectRoutes.CLIENT, value)).isEqualTo(429);
    assertThat(call("header-ip", SubjectRoutes.CLIENT, value, "X-Address", "192.0.2.77"))
        .isEqualTo(200);
  }

  @Test
  void settingsMayCountByTheAddressInAHeader() {
    assertThat(call("configured", SubjectRoutes.CLIENT, "2001:db8::1")).isEqualTo(200);
    assertThat(call("configured", SubjectRoutes.CLIENT, "2001:db8::2")).isEqualTo(200);
    assertThat(call("configured", SubjectRoutes.CLIENT, "2001:db8::3")).isEqualTo(429);
  }

  @ParameterizedTest
  @ValueSource(strings = {"resolver", "resolver-mono", "resolver-flux"})
  void aResolverThatFailsFailsTheCallBeforeAnythingIsCounted(String route) {
    assertThat(call(route, "X-Tenant", "broken")).isEqualTo(500);

    assertThat(server.keys().all()).isEmpty();
  }

  @Test
  void callsWithoutAResolvedSubjectAreCountedByAddress() {
    assertThat(call("resolver", "X-Address", "192.0.2.8")).isEqualTo(200);
    assertThat(call("resolver", "X-Address", "192.0.2.8", "X-Tenant", "empty")).isEqualTo(200);

    assertThat(call("resolver", "X-Address", "192.0.2.8")).isEqualTo(429);
    assertThat(call("resolver", "X-Address", "192.0.2.9")).isEqualTo(200);
    assertThat(call("resolver", "X-Address", "192.0.2.8", "X-Tenant", "acme")).isEqualTo(200);
  }

  @Test
  void aRuleMayHaveItsOwnSubject() {
    assertTwoAdmitted("several", "X-User", "ada", "X-Api-Key", "k-1");
    assertThat(call("several", "X-User", "bob", "X-Api-Key", "k-1")).isEqualTo(200);
    assertThat(call("several", "X-User", "bob", "X-Api-Key", "k-1")).as("the key").isEqualTo(429);
    assertThat(call("several", "X-User", "ada", "X-Api-Key", "k-2")).as("the user").isEqualTo(429);

    assertThat(call("several", "X-User", "bob", "X-Api-Key", "k-2")).isEqualTo(200);
    assertThat(call("several", "X-User", "eve", "X-Api-Key", "k-2")).isEqualTo(200);
    assertThat(call("several", "X-User", "dan", "X-Api-Key", "k-3")).as("all").isEqualTo(429);
  }

  @Test
  void equalValuesOfTwoExpressionsAreTwoSubjects() {
    assertTwoAdmitted("transfer?from=a&to=a");

    assertThat(call("transfer?from=a&to=b")).as("a has sent twice").isEqualTo(429);
    assertThat(call("transfer?from=b&to=a")).as("a has received twice").isEqualTo(429);
    assertTwoAdmitted("transfer?from=b&to=c");
    assertThat(call("transfer?from=c&to=b")).isEqualTo(200);
  }

  @Test
  void anExpressionMayAskABean() {
    assertThat(call("by-bean?who=smith.ada")).isEqualTo(200);
    assertThat(call("by-bean?who=smith.bob")).isEqualTo(200);

    assertThat(call("by-bean?who=smith.eve")).isEqualTo(429);
    assertThat(call("by-bean?who=jones.eve")).isEqualTo(200);
  }

  @ParameterizedTest
  @ValueSource(strings = {"by-bean", "by-bean?who=.x"})
  void aBeanWithoutASubjectMakesABadRequest(String call) {
    assertThat(call(call)).isEqualTo(400);
    assertThat(server.keys().all()).isEmpty();
  }

  @Test
  void aBeanThatFailsIsNoFaultOfTheCaller() {
    assertThat(call("by-bean?who=stranger")).isEqualTo(500);
    assertThat(server.keys().all()).isEmpty();
  }

  @Test
  void anExpressionMayReadAProperty() {
    assertTwoAdmitted("by-property?who=ada");
    assertTwoAdmitted("by-property?who=bob");
    assertThat(server.keys().all()).hasSize(2);
  }

  @Test
  void theDefaultSubjectIsTheAddress() {
    assertTwoAdmitted("ip");

    assertThat(call("ip", "X-Address", StatedCallers.DEFAULT_ADDRESS)).isEqualTo(429);
  }

  private void assertTwoAdmitted(String route, String... headers) {
    assertThat(call(route, headers)).isEqualTo(200);
    assertThat(call(route, headers)).isEqualTo(200);
    assertThat(call(route, headers)).isEqualTo(429);
  }

  private int call(String route, String... headers) {
    return server.get("/subjects/" + route, headers).statusCode();
  }

  /** Routes that count each sort of subject; two calls a minute for each. */
  @Controller("/subjects")
  @Requires(property = "spec.name", value = SubjectRoutes.SPEC)
  static class SubjectRoutes {

    static final String SPEC = "Subjects";
    static final String KEY = "X-Api-Key";
    static final String TENANT = "X-Tenant";
    static final String CLIENT = "X-Client";

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

    @Get("/header-ip")
    @RateLimiter(header = CLIENT, limitType = LimitType.IP, rules = @RateRule(count = 2, time = 60))
    String headerIp() {
      return OK;
    }

    @Get("/configured")
    @RateLimiter(value = "configured", rules = @RateRule(count = 2, time = 60))
    String configured() {
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
        rules = {
          @RateRule(count = 2, time = 60),
          @RateRule(count = 2, time = 60, subject = "#{to}")
        })
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
}
