// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.tuple;

import io.limiter.core.LimitRequest;
import io.limiter.core.Limiter;
import io.limiter.core.Outcome;
import io.limiter.core.Verdict;
import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.Anonymous;
import io.limiter.micronaut.annotation.Ban;
import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.SubjectResolver;
import io.limiter.micronaut.plan.LimitPolicies;
import io.limiter.micronaut.plan.LimitedPolicy;
import io.limiter.micronaut.subject.ClientAddress;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Order;
import io.micronaut.http.HttpAttributes;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.inject.qualifiers.Qualifiers;
import jakarta.inject.Named;
import jakarta.inject.Singleton;
import java.security.Principal;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Code that names a policy and a subject asks about exactly what the method counts. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class LimitPoliciesTest {

  private static final String SPEC = "LimitPoliciesTest";

  /** Two addresses of one /64. */
  private static final String HERE = "2001:db8:1:2::5";

  private static final String BESIDE = "2001:db8:1:2:ffff::1";

  @AutoClose
  private final TestServer server =
      TestServer.start(SPEC, Map.of("limiter.address.trusted-proxies", "127.0.0.1"));

  private final Limiter limiter = server.context().getBean(Limiter.class);
  private final LimitPolicies policies = server.context().getBean(LimitPolicies.class);

  @Controller("/named")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    @Get("/address")
    @RateLimiter(value = "by-address", rules = @RateRule(count = 2, time = 3_600))
    String address() {
      return "ok";
    }

    @Get("/user")
    @RateLimiter(
        value = "by-user",
        limitType = LimitType.USER_ID,
        rules = @RateRule(count = 2, time = 3_600),
        anonymousRules = @RateRule(count = 1, time = 3_600))
    String user() {
      return "ok";
    }

    @Get("/header")
    @RateLimiter(
        value = "by-header",
        header = "X-Api-Key",
        anonymous = Anonymous.REJECT,
        rules = @RateRule(count = 2, time = 3_600))
    String header() {
      return "ok";
    }

    @Get("/argument")
    @RateLimiter(
        value = "by-argument",
        subject = "#{phone}",
        rules = @RateRule(count = 2, time = 3_600))
    String argument(@QueryValue String phone) {
      return phone;
    }

    @Get("/number")
    @RateLimiter(
        value = "by-number",
        subject = "#{number}",
        rules = @RateRule(count = 2, time = 3_600))
    String number(@QueryValue long number) {
      return "" + number;
    }

    @Get("/resolved")
    @RateLimiter(
        value = "by-tenant",
        resolver = Tenant.class,
        rules = @RateRule(count = 2, time = 3_600))
    String resolved() {
      return "ok";
    }

    @Get("/everyone")
    @RateLimiter(
        value = "everyone",
        limitType = LimitType.GLOBAL,
        rules = @RateRule(count = 2, time = 3_600))
    String everyone() {
      return "ok";
    }

    @Get("/stacks")
    @RateLimiter(
        value = "stacks",
        limitType = LimitType.USER_ID,
        rules = {
          @RateRule(count = 2, time = 3_600),
          @RateRule(count = 9, time = 36_000),
          @RateRule(count = 5, algorithm = Algorithm.CONCURRENCY_LIMIT),
          @RateRule(count = 7, time = 3_600, counts = Counts.SUCCESSES)
        })
    String stacks() {
      return "ok";
    }

    @Get("/several")
    @RateLimiter(
        value = "several",
        rules = {
          @RateRule(count = 2, time = 3_600),
          @RateRule(count = 4, time = 3_600, limitType = LimitType.GLOBAL),
          @RateRule(count = 9, time = 3_600, limitType = LimitType.USER_ID)
        })
    String several() {
      return "ok";
    }

    @Get("/shared/one")
    @RateLimiter(
        value = "shared-one",
        key = "shared-by-two",
        rules = @RateRule(count = 2, time = 3_600))
    String sharedOne() {
      return "ok";
    }

    @Get("/shared/two")
    @RateLimiter(
        value = "shared-two",
        key = "shared-by-two",
        rules = @RateRule(count = 2, time = 3_600))
    String sharedTwo() {
      return "ok";
    }

    @Get("/costly")
    @RateLimiter(value = "costly", cost = "3", rules = @RateRule(count = 7, time = 3_600))
    String costly() {
      return "ok";
    }

    @Get("/banned")
    @RateLimiter(
        value = "banned",
        rules = @RateRule(count = 1, time = 3_600),
        ban = @Ban(violations = 1, time = 3_600))
    String banned() {
      return "ok";
    }

    @Get("/once")
    @RateLimiter(
        value = "once",
        limitType = LimitType.USER_ID,
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(count = 1, time = 3_600),
        duplicate = @Duplicate(by = DuplicateBy.CALLER))
    String once() {
      return "ok";
    }

    @Get("/vote")
    @RateLimiter(
        value = "vote",
        preventDuplicate = true,
        duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    String vote(@QueryValue String option) {
      return option;
    }

    @Get("/nameless")
    @RateRule(count = 2, time = 3_600)
    String nameless() {
      return "ok";
    }
  }

  @Controller("/class")
  @RateLimiter(value = "of-class", rules = @RateRule(count = 2, time = 3_600))
  @Requires(property = "spec.name", value = SPEC)
  static class LimitedClass {

    @Get("/one")
    String one() {
      return "ok";
    }

    @Get("/two")
    String two() {
      return "ok";
    }
  }

  @Factory
  @Requires(property = "spec.name", value = SPEC)
  static class Senders {
    @Singleton
    @RateLimiter(
        value = "mail",
        limitType = LimitType.GLOBAL,
        rules = @RateRule(count = 1, time = 3_600))
    Sender sender() {
      return new Sender() {
        @Override
        public void send() {}

        @Override
        public void remind() {}
      };
    }
  }

  @Factory
  @Requires(property = "spec.name", value = SPEC)
  static class Lines {
    @Singleton
    @Named("slow")
    @RateLimiter(
        value = "slow-line",
        key = "slow-line",
        limitType = LimitType.GLOBAL,
        rules = @RateRule(count = 1, time = 3_600))
    Line slow() {
      return () -> {};
    }

    @Singleton
    @Named("fast")
    @RateLimiter(
        value = "fast-line",
        key = "fast-line",
        limitType = LimitType.GLOBAL,
        rules = @RateRule(count = 9, time = 3_600))
    Line fast() {
      return () -> {};
    }
  }

  /** Two beans of one type, each with its own policy. */
  interface Line {
    void send();
  }

  /** Made by a factory, so each method is planned when it is first called. */
  interface Sender {
    void send();

    void remind();
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Tenant implements SubjectResolver {
    @Override
    public Optional<String> resolve(HttpRequest<?> request) {
      return Optional.ofNullable(request.getHeaders().get("X-Tenant"));
    }
  }

  /** Stands for security. */
  @ServerFilter(ServerFilter.MATCH_ALL_PATTERN)
  @Requires(property = "spec.name", value = SPEC)
  static class Security {
    @RequestFilter
    @Order(39_000)
    void logIn(HttpRequest<?> request) {
      String user = request.getHeaders().get("X-User");
      if (user != null) {
        request.setAttribute(HttpAttributes.PRINCIPAL, (Principal) () -> user);
      }
    }
  }

  @BeforeEach
  void forget() {
    server.clear();
  }

  private int call(String path, String... headers) {
    String[] all =
        Stream.concat(Stream.of(headers), Stream.of("X-Forwarded-For", HERE))
            .toArray(String[]::new);
    return server.get(path, all).statusCode();
  }

  private static <T> T join(CompletionStage<T> stage) {
    return stage.toCompletableFuture().join();
  }

  private Set<String> keys() {
    return server.keys().all().keySet();
  }

  static Stream<Arguments> named() {
    return Stream.of(
        named("by-address", "/named/address", policy -> policy.forSubject(BESIDE)),
        named("by-address", "/named/address", policy -> policy.forAddress(BESIDE)),
        named("by-user", "/named/user", policy -> policy.forSubject("ada"), "X-User", "ada"),
        named("by-user", "/named/user", policy -> policy.forUser("ada"), "X-User", "ada"),
        named("by-header", "/named/header", policy -> policy.forSubject("k 1"), "X-Api-Key", "k 1"),
        named(
            "by-header",
            "/named/header",
            policy -> policy.forHeader("x-api-KEY", "k 1"),
            "X-Api-Key",
            "k 1"),
        named("by-argument", "/named/argument?phone=0100", policy -> policy.forSubject("0100")),
        named(
            "by-argument",
            "/named/argument?phone=0100",
            policy -> policy.forArgument("#{phone}", "0100")),
        named("by-number", "/named/number?number=100", policy -> policy.forSubject(100)),
        named("by-number", "/named/number?number=100", policy -> policy.forSubject("100")),
        named("by-number", "/named/number?number=100", policy -> policy.forSubject(100.0)),
        named("by-tenant", "/named/resolved", policy -> policy.forSubject("t"), "X-Tenant", "t"),
        named(
            "by-tenant",
            "/named/resolved",
            policy -> policy.forResolved(Tenant.class, "t"),
            "X-Tenant",
            "t"),
        named("everyone", "/named/everyone", LimitedPolicy::forEveryone),
        named(
            "several",
            "/named/several",
            policy ->
                policy.forAddress(BESIDE).and(policy.forEveryone()).and(policy.forUser("ada")),
            "X-User",
            "ada"),
        named("shared-one", "/named/shared/two", policy -> policy.forSubject(HERE)),
        named("shared-two", "/named/shared/one", policy -> policy.forSubject(HERE)),
        named("of-class", "/class/two", policy -> policy.method("two").forSubject(HERE)),
        named(
            Routes.class.getName() + ".nameless()",
            "/named/nameless",
            policy -> policy.forSubject(HERE)));
  }

  private static Arguments named(
      String policy,
      String path,
      Function<LimitedPolicy, LimitRequest> request,
      String... headers) {
    return Arguments.of(policy, path, headers, request);
  }

  @ParameterizedTest
  @MethodSource("named")
  void aSubjectIsThatOfTheMethod(
      String name, String path, String[] headers, Function<LimitedPolicy, LimitRequest> of) {
    LimitRequest request = of.apply(policies.get(name));
    assertThat(join(limiter.peek(request)).allowed()).isTrue();
    assertThat(call(path, headers)).isEqualTo(200);
    Set<String> counted = keys();
    assertThat(join(limiter.peek(request)).allowed()).isTrue();
    assertThat(call(path, headers)).isEqualTo(200);
    assertThat(call(path, headers)).isEqualTo(429);

    Verdict peeked = join(limiter.peek(request));
    assertThat(peeked.outcome()).isEqualTo(Outcome.LIMITED);
    assertThat(peeked.policy().name()).isEqualTo(name);

    join(limiter.reset(request));
    assertThat(keys()).isEmpty();
    assertThat(call(path, headers)).isEqualTo(200);

    join(limiter.reset(request));
    join(limiter.record(request));
    assertThat(keys()).isEqualTo(counted);
    join(limiter.record(request));
    assertThat(call(path, headers)).isEqualTo(429);
  }

  @Test
  void stacksOfOneSubjectAreNamedTogether() {
    LimitRequest request = policies.get("stacks").forSubject("ada");
    assertThat(request.charges()).hasSize(3);
    assertThat(call("/named/stacks", "X-User", "ada")).isEqualTo(200);
    assertThat(call("/named/stacks", "X-User", "ada")).isEqualTo(200);
    assertThat(call("/named/stacks", "X-User", "ada")).isEqualTo(429);

    assertThat(join(limiter.peek(request)).rules())
        .extracting(rule -> rule.rule().name(), rule -> rule.remaining())
        .contains(tuple("2-per-3600s", 0L), tuple("9-per-36000s", 7L), tuple("7-per-3600s", 5L));

    join(limiter.reset(request));
    assertThat(keys()).isEmpty();
  }

  @Test
  void oneOfSeveralSubjectsIsForgottenAlone() {
    LimitedPolicy several = policies.get("several");
    assertThat(call("/named/several", "X-User", "ada")).isEqualTo(200);
    assertThat(call("/named/several", "X-User", "ada")).isEqualTo(200);
    assertThat(call("/named/several", "X-User", "ada")).isEqualTo(429);

    join(limiter.reset(several.forAddress(HERE)));

    assertThat(call("/named/several", "X-User", "ada")).isEqualTo(200);
    assertThat(join(limiter.peek(several.forEveryone())).rules().get(0).remaining()).isEqualTo(1);
    assertThat(join(limiter.peek(several.forUser("ada"))).rules().get(0).remaining()).isEqualTo(6);
  }

  @Test
  void callersWithoutASubjectHaveTheirOwnRules() {
    LimitRequest anonymous = policies.get("by-user").forAnonymous(BESIDE);
    assertThat(call("/named/user")).isEqualTo(200);
    assertThat(call("/named/user")).isEqualTo(429);

    assertThat(join(limiter.peek(anonymous)).allowed()).isFalse();
    join(limiter.reset(anonymous));

    assertThat(keys()).isEmpty();
    assertThat(call("/named/user")).isEqualTo(200);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> policies.get("by-header").forAnonymous(HERE))
        .withMessage(
            "The policy 'by-header' does not count callers without a subject, but header = x-api-key");
  }

  @Test
  void aRequestHasTheCostOfTheAnnotation() {
    join(limiter.record(policies.get("costly").forSubject(HERE)));

    assertThat(call("/named/costly")).isEqualTo(200);
    assertThat(call("/named/costly")).isEqualTo(429);
  }

  @Test
  void aResetLiftsABan() {
    LimitRequest banned = policies.get("banned").forSubject(HERE);
    call("/named/banned");
    call("/named/banned");
    assertThat(join(limiter.peek(banned)).outcome()).isEqualTo(Outcome.BANNED);

    join(limiter.reset(banned));

    assertThat(call("/named/banned")).isEqualTo(200);
  }

  @Test
  void aSubmissionOfTheCallerAloneIsNamedToo() {
    LimitRequest once = policies.get("once").forSubject("ada");
    assertThat(call("/named/once", "X-User", "ada")).isEqualTo(200);
    assertThat(call("/named/once", "X-User", "ada")).isEqualTo(409);
    assertThat(join(limiter.peek(once)).outcome()).isEqualTo(Outcome.DUPLICATE);

    join(limiter.reset(once));

    assertThat(call("/named/once", "X-User", "ada")).isEqualTo(200);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> policies.get("vote").forAddress(HERE))
        .withMessage(
            "The policy 'vote' does not count addresses, but only duplicates that a subject alone does not name");
  }

  @Test
  void beansOfFactoriesHavePoliciesThoughSomeMethodsWereNotCalledYet() {
    Sender sender = server.context().getBean(Sender.class);
    sender.send();
    LimitedPolicy mail = policies.get("mail");

    assertThat(mail.methods())
        .containsExactly(Sender.class.getName() + ".remind()", Sender.class.getName() + ".send()");
    assertThatIllegalArgumentException()
        .isThrownBy(mail::forEveryone)
        .withMessageContaining("limits several methods separately");
    join(limiter.reset(mail.method("send").forEveryone()));
    sender.send();
    assertThat(join(limiter.peek(mail.method("send").forEveryone())).allowed()).isFalse();
    assertThat(join(limiter.peek(mail.method("remind").forEveryone())).allowed()).isTrue();
  }

  @Test
  void twoBeansOfOneTypeHaveTheirOwnPolicies() {
    assertThat(policies.names()).contains("slow-line", "fast-line");
    server.context().getBean(Line.class, Qualifiers.byName("slow")).send();

    LimitRequest slow = policies.get("slow-line").forEveryone();
    assertThat(join(limiter.peek(slow)).allowed()).isFalse();
    assertThat(join(limiter.peek(policies.get("fast-line").forEveryone())).rules())
        .singleElement()
        .satisfies(rule -> assertThat(rule.remaining()).isEqualTo(9));
    join(limiter.reset(slow));
    assertThat(keys()).isEmpty();
  }

  @Test
  void theAddressOfARequestNamesItsNetwork() {
    call("/named/address");
    String counted =
        server
            .context()
            .getBean(ClientAddress.class)
            .counted(BESIDE); // what ClientAddress.of gives for its requests

    assertThat(counted).isEqualTo("2001:db8:1:2::/64");
    join(limiter.reset(policies.get("by-address").forAddress(counted)));

    assertThat(keys()).isEmpty();
    for (String none : List.of("localhost", "20010db8/64", "20010DB800010002/64", "192.0.2")) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> policies.get("by-address").forAddress(none))
          .withMessageContaining("not an IP address");
    }
  }

  @Test
  void theLimitsOfAPolicyAreListed() {
    LimitedPolicy shared = policies.get("shared-one");
    assertThat(shared.name()).isEqualTo("shared-one");
    assertThat(shared.methods()).containsExactly(Routes.class.getName() + ".sharedOne()");
    assertThat(shared.limits()).isEqualTo(policies.get("shared-two").limits());
    LimitedPolicy.SubjectLimit limit = shared.limits().get(0);
    assertThat(limit.key()).isEqualTo("shared-by-two");
    assertThat(limit.subject()).isEqualTo("limitType = IP");
    assertThat(limit.rules()).extracting(rule -> rule.name()).containsExactly("2-per-3600s");
    assertThat(limit.anonymousRules()).isEmpty();
    assertThat(policies.get("by-user").limits().get(0).anonymousRules())
        .extracting(rule -> rule.name())
        .containsExactly("1-per-3600s");
    assertThat(policies.get("several").limits())
        .extracting(LimitedPolicy.SubjectLimit::subject)
        .containsExactly("limitType = IP", "limitType = GLOBAL", "limitType = USER_ID");
  }

  @Test
  void aNameThatNoPolicyHasIsRejectedWithTheNearest() {
    assertThat(policies.names())
        .contains("by-address", "of-class", Routes.class.getName() + ".nameless()");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> policies.get("by-adress"))
        .withMessage("No policy is named 'by-adress': did you mean by-address?");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> policies.get("shared"))
        .withMessage("No policy is named 'shared': did you mean shared-one, shared-two?");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> policies.get("nothing like any of them"))
        .withMessageStartingWith(
            "No policy is named 'nothing like any of them': use one of banned,")
        .withMessageContaining("by-address");
  }

  @Test
  void aRequestThatNamesTooLittleOrAnotherSubjectIsRejected() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> policies.get("several").forSubject("ada"))
        .withMessageStartingWith(
            "The policy 'several' counts limitType = IP, limitType = GLOBAL, limitType = USER_ID:");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> policies.get("everyone").forSubject("ada"))
        .withMessageStartingWith("The policy 'everyone' counts limitType = GLOBAL:");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> policies.get("by-address").forUser("ada"))
        .withMessage("The policy 'by-address' does not count users, but limitType = IP");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> policies.get("by-argument").forArgument("#{email}", "ada"))
        .withMessage(
            "The policy 'by-argument' does not count subject = #{email}, but subject = #{phone}");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> policies.get("by-user").forUser(" "))
        .withMessageContaining("empty");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> policies.get("by-argument").forSubject(List.of("0100")))
        .withMessageContaining("is a text or a number");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> policies.get("of-class").forSubject(HERE))
        .withMessageStartingWith("The policy 'of-class' limits several methods separately");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> policies.get("of-class").method("three"))
        .withMessageStartingWith("The policy 'of-class' limits no method three");
  }
}
