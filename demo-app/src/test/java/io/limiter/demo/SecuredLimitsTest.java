// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.async.publisher.Publishers;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.security.annotation.Secured;
import io.micronaut.security.authentication.Authentication;
import io.micronaut.security.filters.AuthenticationFetcher;
import io.micronaut.security.rules.SecurityRule;
import jakarta.annotation.security.DenyAll;
import jakarta.annotation.security.PermitAll;
import jakarta.annotation.security.RolesAllowed;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Publisher;

/** Each annotation of micronaut-security means the same beside limits with expressions. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class SecuredLimitsTest {

  private static final String SPEC = "SecuredLimitsTest";
  private static final List<String> CALLERS = List.of("", "USER", "ADMIN");
  private static final List<String> EXPRESSIONS = List.of("cost", "subject", "duplicate");

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Roles implements AuthenticationFetcher<HttpRequest<?>> {
    @Override
    public Publisher<Authentication> fetchAuthentication(HttpRequest<?> request) {
      String role = request.getHeaders().get("X-Role");
      return role == null || role.isEmpty()
          ? Publishers.empty()
          : Publishers.just(Authentication.build(role, List.of(role)));
    }
  }

  @Controller("/secured")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {
    @Get("/open/plain")
    @Secured(SecurityRule.IS_ANONYMOUS)
    @RateRule(count = 10_000, time = 60)
    String openPlain(String who, int n) {
      return who + n;
    }

    @Get("/open/cost")
    @Secured(SecurityRule.IS_ANONYMOUS)
    @RateLimiter(cost = "#{n}", rules = @RateRule(count = 10_000, time = 60))
    String openCost(String who, int n) {
      return who + n;
    }

    @Get("/open/subject")
    @Secured(SecurityRule.IS_ANONYMOUS)
    @RateLimiter(subject = "#{who}", rules = @RateRule(count = 10_000, time = 60))
    String openSubject(String who, int n) {
      return who + n;
    }

    @Get("/open/duplicate")
    @Secured(SecurityRule.IS_ANONYMOUS)
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(key = "#{who + n}"))
    String openDuplicate(String who, int n) {
      return who + n;
    }

    @Get("/known/plain")
    @Secured(SecurityRule.IS_AUTHENTICATED)
    @RateRule(count = 10_000, time = 60)
    String knownPlain(String who, int n) {
      return who + n;
    }

    @Get("/known/cost")
    @Secured(SecurityRule.IS_AUTHENTICATED)
    @RateLimiter(cost = "#{n}", rules = @RateRule(count = 10_000, time = 60))
    String knownCost(String who, int n) {
      return who + n;
    }

    @Get("/known/subject")
    @Secured(SecurityRule.IS_AUTHENTICATED)
    @RateLimiter(subject = "#{who}", rules = @RateRule(count = 10_000, time = 60))
    String knownSubject(String who, int n) {
      return who + n;
    }

    @Get("/known/duplicate")
    @Secured(SecurityRule.IS_AUTHENTICATED)
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(key = "#{who + n}"))
    String knownDuplicate(String who, int n) {
      return who + n;
    }

    @Get("/admin/plain")
    @Secured("ADMIN")
    @RateRule(count = 10_000, time = 60)
    String adminPlain(String who, int n) {
      return who + n;
    }

    @Get("/admin/cost")
    @Secured("ADMIN")
    @RateLimiter(cost = "#{n}", rules = @RateRule(count = 10_000, time = 60))
    String adminCost(String who, int n) {
      return who + n;
    }

    @Get("/admin/subject")
    @Secured("ADMIN")
    @RateLimiter(subject = "#{who}", rules = @RateRule(count = 10_000, time = 60))
    String adminSubject(String who, int n) {
      return who + n;
    }

    @Get("/admin/duplicate")
    @Secured("ADMIN")
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(key = "#{who + n}"))
    String adminDuplicate(String who, int n) {
      return who + n;
    }

    @Get("/either/plain")
    @Secured({"ADMIN", "USER"})
    @RateRule(count = 10_000, time = 60)
    String eitherPlain(String who, int n) {
      return who + n;
    }

    @Get("/either/cost")
    @Secured({"ADMIN", "USER"})
    @RateLimiter(cost = "#{n}", rules = @RateRule(count = 10_000, time = 60))
    String eitherCost(String who, int n) {
      return who + n;
    }

    @Get("/either/subject")
    @Secured({"ADMIN", "USER"})
    @RateLimiter(subject = "#{who}", rules = @RateRule(count = 10_000, time = 60))
    String eitherSubject(String who, int n) {
      return who + n;
    }

    @Get("/either/duplicate")
    @Secured({"ADMIN", "USER"})
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(key = "#{who + n}"))
    String eitherDuplicate(String who, int n) {
      return who + n;
    }

    @Get("/placeholder/plain")
    @Secured("${test.role}")
    @RateRule(count = 10_000, time = 60)
    String placeholderPlain(String who, int n) {
      return who + n;
    }

    @Get("/placeholder/cost")
    @Secured("${test.role}")
    @RateLimiter(cost = "#{n}", rules = @RateRule(count = 10_000, time = 60))
    String placeholderCost(String who, int n) {
      return who + n;
    }

    @Get("/placeholder/subject")
    @Secured("${test.role}")
    @RateLimiter(subject = "#{who}", rules = @RateRule(count = 10_000, time = 60))
    String placeholderSubject(String who, int n) {
      return who + n;
    }

    @Get("/placeholder/duplicate")
    @Secured("${test.role}")
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(key = "#{who + n}"))
    String placeholderDuplicate(String who, int n) {
      return who + n;
    }

    @Get("/deny/plain")
    @Secured(SecurityRule.DENY_ALL)
    @RateRule(count = 10_000, time = 60)
    String denyPlain(String who, int n) {
      return who + n;
    }

    @Get("/deny/cost")
    @Secured(SecurityRule.DENY_ALL)
    @RateLimiter(cost = "#{n}", rules = @RateRule(count = 10_000, time = 60))
    String denyCost(String who, int n) {
      return who + n;
    }

    @Get("/deny/subject")
    @Secured(SecurityRule.DENY_ALL)
    @RateLimiter(subject = "#{who}", rules = @RateRule(count = 10_000, time = 60))
    String denySubject(String who, int n) {
      return who + n;
    }

    @Get("/deny/duplicate")
    @Secured(SecurityRule.DENY_ALL)
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(key = "#{who + n}"))
    String denyDuplicate(String who, int n) {
      return who + n;
    }

    @Get("/permitAll/plain")
    @PermitAll
    @RateRule(count = 10_000, time = 60)
    String permitAllPlain(String who, int n) {
      return who + n;
    }

    @Get("/permitAll/cost")
    @PermitAll
    @RateLimiter(cost = "#{n}", rules = @RateRule(count = 10_000, time = 60))
    String permitAllCost(String who, int n) {
      return who + n;
    }

    @Get("/permitAll/subject")
    @PermitAll
    @RateLimiter(subject = "#{who}", rules = @RateRule(count = 10_000, time = 60))
    String permitAllSubject(String who, int n) {
      return who + n;
    }

    @Get("/permitAll/duplicate")
    @PermitAll
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(key = "#{who + n}"))
    String permitAllDuplicate(String who, int n) {
      return who + n;
    }

    @Get("/denyAll/plain")
    @DenyAll
    @RateRule(count = 10_000, time = 60)
    String denyAllPlain(String who, int n) {
      return who + n;
    }

    @Get("/denyAll/cost")
    @DenyAll
    @RateLimiter(cost = "#{n}", rules = @RateRule(count = 10_000, time = 60))
    String denyAllCost(String who, int n) {
      return who + n;
    }

    @Get("/denyAll/subject")
    @DenyAll
    @RateLimiter(subject = "#{who}", rules = @RateRule(count = 10_000, time = 60))
    String denyAllSubject(String who, int n) {
      return who + n;
    }

    @Get("/denyAll/duplicate")
    @DenyAll
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(key = "#{who + n}"))
    String denyAllDuplicate(String who, int n) {
      return who + n;
    }

    @Get("/rolesAllowed/plain")
    @RolesAllowed("ADMIN")
    @RateRule(count = 10_000, time = 60)
    String rolesAllowedPlain(String who, int n) {
      return who + n;
    }

    @Get("/rolesAllowed/cost")
    @RolesAllowed("ADMIN")
    @RateLimiter(cost = "#{n}", rules = @RateRule(count = 10_000, time = 60))
    String rolesAllowedCost(String who, int n) {
      return who + n;
    }

    @Get("/rolesAllowed/subject")
    @RolesAllowed("ADMIN")
    @RateLimiter(subject = "#{who}", rules = @RateRule(count = 10_000, time = 60))
    String rolesAllowedSubject(String who, int n) {
      return who + n;
    }

    @Get("/rolesAllowed/duplicate")
    @RolesAllowed("ADMIN")
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(key = "#{who + n}"))
    String rolesAllowedDuplicate(String who, int n) {
      return who + n;
    }

    @Get("/expression/plain")
    @Secured("#{1 == 1}")
    @RateRule(count = 10_000, time = 60)
    String expressionPlain(String who, int n) {
      return who + n;
    }

    @Get("/expression/cost")
    @Secured("#{1 == 1}")
    @RateLimiter(cost = "#{n}", rules = @RateRule(count = 10_000, time = 60))
    String expressionCost(String who, int n) {
      return who + n;
    }

    @Get("/expression/subject")
    @Secured("#{1 == 1}")
    @RateLimiter(subject = "#{who}", rules = @RateRule(count = 10_000, time = 60))
    String expressionSubject(String who, int n) {
      return who + n;
    }

    @Get("/expression/duplicate")
    @Secured("#{1 == 1}")
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(key = "#{who + n}"))
    String expressionDuplicate(String who, int n) {
      return who + n;
    }

    @Get("/none/plain")
    @RateRule(count = 10_000, time = 60)
    String nonePlain(String who, int n) {
      return who + n;
    }

    @Get("/none/cost")
    @RateLimiter(cost = "#{n}", rules = @RateRule(count = 10_000, time = 60))
    String noneCost(String who, int n) {
      return who + n;
    }

    @Get("/none/subject")
    @RateLimiter(subject = "#{who}", rules = @RateRule(count = 10_000, time = 60))
    String noneSubject(String who, int n) {
      return who + n;
    }

    @Get("/none/duplicate")
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(key = "#{who + n}"))
    String noneDuplicate(String who, int n) {
      return who + n;
    }
  }

  @Controller("/admins")
  @Secured("ADMIN")
  @Requires(property = "spec.name", value = SPEC)
  static class Admins {
    @Get("/plain")
    @RateRule(count = 10_000, time = 60)
    String plain(String who, int n) {
      return who + n;
    }

    @Get("/cost")
    @RateLimiter(cost = "#{n}", rules = @RateRule(count = 10_000, time = 60))
    String cost(String who, int n) {
      return who + n;
    }

    @Get("/subject")
    @RateLimiter(subject = "#{who}", rules = @RateRule(count = 10_000, time = 60))
    String subject(String who, int n) {
      return who + n;
    }

    @Get("/duplicate")
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(key = "#{who + n}"))
    String duplicate(String who, int n) {
      return who + n;
    }
  }

  private final Demo demo =
      new Demo(Demo.newService(), Map.of("spec.name", SPEC, "test.role", "ADMIN"));
  private final Demo off =
      new Demo(
          Demo.newService(),
          Map.of("spec.name", SPEC, "test.role", "ADMIN", "limiter.enabled", false));
  private int calls;

  @AfterAll
  void stop() {
    demo.close();
    off.close();
  }

  static Stream<String> routes() {
    return Stream.concat(
        Stream.of(
                "open",
                "known",
                "admin",
                "either",
                "placeholder",
                "deny",
                "permitAll",
                "denyAll",
                "rolesAllowed",
                "expression",
                "none")
            .map(name -> "/secured/" + name),
        Stream.of("/admins"));
  }

  private int status(Demo service, String path, String role) {
    return service.get(path + "?who=a&n=" + ++calls, "X-Role", role).statusCode();
  }

  @ParameterizedTest
  @MethodSource("routes")
  void securityDecidesAsItDoesWithoutExpressions(String route) {
    for (String role : CALLERS) {
      int plain = status(demo, route + "/plain", role);
      for (String expression : EXPRESSIONS) {
        assertThat(status(demo, route + "/" + expression, role))
            .as("%s of a caller with the role '%s'", expression, role)
            .isEqualTo(plain);
        assertThat(status(off, route + "/" + expression, role))
            .as("without limits")
            .isEqualTo(plain);
      }
    }
  }

  /** The test above compares routes: these say what security makes of them. */
  @ParameterizedTest
  @ValueSource(strings = {"plain", "cost", "subject", "duplicate"})
  void rolesAreAskedFor(String limit) {
    assertThat(CALLERS.stream().map(role -> status(demo, "/secured/admin/" + limit, role)))
        .containsExactly(401, 403, 200);
    assertThat(CALLERS.stream().map(role -> status(demo, "/secured/permitAll/" + limit, role)))
        .containsExactly(200, 200, 200);
    assertThat(CALLERS.stream().map(role -> status(demo, "/secured/denyAll/" + limit, role)))
        .containsExactly(401, 403, 403);
  }
}
