// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Policy;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.testing.RecordedLog;
import io.limiter.core.testing.Seeds;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.Tiers;
import io.limiter.micronaut.plan.LimitPolicies;
import io.limiter.micronaut.plan.LimitedPolicy;
import io.limiter.micronaut.testing.FileService;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import jakarta.inject.Singleton;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.yaml.snakeyaml.Yaml;

/**
 * A service that has read one file, and then another by a refresh, is a service that has started
 * with the other: no setting is left, and none is missed. {@link Seeds} selects the files.
 */
class RefreshedFilesFuzzTest {

  private static final String SPEC = "RefreshedFilesFuzzTest";

  /** A pair of files takes as long as so many inputs of other tests. */
  private static final int INPUTS_OF_A_PAIR = 20_000;

  private static final String TOKEN = "a-token-of-22-characters-or-more";
  private static final String DIGEST =
      "91f7e1c34b9d2809aac75854fe8ed096138efb459b7246861f418f6c78765ee8";

  @TempDir Path directory;

  @AutoClose
  private final RecordedLog refused =
      RecordedLog.of("io.limiter.micronaut.metadata.ConfiguredPolicies$PoliciesRefresh");

  @Controller
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    @Get("/named")
    @RateLimiter(
        value = "named",
        rules = {@RateRule(count = 5, time = 3_600), @RateRule(count = 50, time = 86_400)})
    String named() {
      return "ok";
    }

    @Get("/p/{+path}")
    String path(String path) {
      return path;
    }
  }

  /** Made by a factory, so planned when it is first called. */
  interface Mailer {
    void send();
  }

  @Factory
  @Requires(property = "spec.name", value = SPEC)
  static class Beans {

    @Singleton
    @RateLimiter(value = "mail", rules = @RateRule(count = 5))
    Mailer mailer() {
      return () -> {};
    }

    @Singleton
    Policy ofCode() {
      return Policy.of("of-code", SlidingWindowLogRule.of(3, Duration.ofHours(1)));
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class TiersByHeader implements Tiers {

    @Override
    public CompletionStage<String> of(HttpRequest<?> request) {
      return CompletableFuture.completedFuture(request.getHeaders().get("X-Tier"));
    }
  }

  private static final class Service extends FileService {

    private Service(Path directory) {
      super(SPEC, directory);
    }

    /** All that can be seen of the limits. */
    String seen() {
      List<String> seen = new ArrayList<>();
      LimitPolicies policies = bean(LimitPolicies.class);
      for (String name : policies.names()) {
        LimitedPolicy policy = policies.get(name);
        seen.add(name + ": " + policy.methods() + ' ' + policy.limits());
        policy.configured().forEach(it -> seen.add("  " + it.key() + " = " + it.value()));
      }
      String[][] callers = {
        {"X-Forwarded-For", "198.18.0.1"},
        {"X-Forwarded-For", "198.18.0.2", "X-Tier", "pro"},
        {"X-Forwarded-For", "198.18.0.3", "X-RateLimit-Exempt", TOKEN},
        {"X-Forwarded-For", "198.18.0.4", "X-Let-Me", TOKEN},
        {"X-Forwarded-For", "198.18.0.5"},
        {"X-Forwarded-For", "198.18.0.6", "X-Key", "a"}
      };
      for (String path : List.of("/named", "/p/one", "/p/two/three", "/other")) {
        for (String[] caller : callers) {
          seen.add(path + " of " + String.join(" ", caller));
          for (int call = 0; call < 3; call++) {
            HttpResponse<String> answer = get(path, caller);
            seen.add(
                "  %d %s %s %s"
                    .formatted(
                        answer.statusCode(),
                        answer.headers().allValues("RateLimit-Policy"),
                        answer
                            .headers()
                            .allValues("RateLimit")
                            .toString()
                            .replaceAll(";t=\\d+", ""),
                        answer.body()));
          }
        }
      }
      return String.join("\n", seen);
    }
  }

  @Test
  void aRefreshedServiceIsAStartedOne() {
    pairs(8);
  }

  @Tag("matrix")
  @Test
  void manyRefreshedServicesAreStartedOnes() {
    pairs(50);
  }

  @Test
  void aRefreshAcceptsWhatAStartAccepts() {
    sequences(5);
  }

  @Tag("matrix")
  @Test
  void manyRefreshesAcceptWhatAStartAccepts() {
    sequences(40);
  }

  /** Files that may have a mistake. A refused one changes nothing. */
  private void sequences(int wanted) {
    Map<String, String> mistakes = new HashMap<>(); // of a start with a file; "" for none
    Seeds.forEach(
        (long) wanted * INPUTS_OF_A_PAIR,
        seed -> {
          Random random = new Random(seed);
          String accepted = "limiter: {address: {trusted-proxies: [127.0.0.1, '::1']}}";
          StringBuilder files = new StringBuilder();
          FileService.write(directory, accepted);
          try (Service refreshed = new Service(directory)) {
            for (int i = 0; i < 6; i++) {
              String file = new DraftGenerator(random).yaml();
              files.append(file).append('\n');
              String expected = mistakes.computeIfAbsent(file, this::mistakeOfStart);
              refreshed.write(file);
              refused.clear();
              refreshed.refresh();
              assertThat(String.join("", refused.messages()).replaceFirst(".*unchanged: ", ""))
                  .as("-Dlimiter.seed=%d: after %n%s", seed, files)
                  .isEqualTo(expected);
              accepted = expected.isEmpty() ? file : accepted;
            }
            FileService.write(directory, accepted);
            try (Service started = new Service(directory)) {
              assertThat(refreshed.seen())
                  .as("-Dlimiter.seed=%d: after %n%s", seed, files)
                  .isEqualTo(started.seen());
            }
          }
          return INPUTS_OF_A_PAIR;
        });
  }

  private String mistakeOfStart(String file) {
    FileService.write(directory, file);
    try (Service started = new Service(directory)) {
      return "";
    } catch (RuntimeException e) {
      Throwable mistake = e;
      while (mistake.getCause() != null) {
        mistake = mistake.getCause();
      }
      return mistake.getMessage();
    }
  }

  private void pairs(int wanted) {
    Seeds.forEach(
        (long) wanted * INPUTS_OF_A_PAIR,
        seed -> {
          Random random = new Random(seed);
          String before = new FileGenerator(random).yaml();
          String after = new FileGenerator(random).yaml();
          String expected;
          FileService.write(directory, after);
          try (Service started = new Service(directory)) {
            expected = started.seen();
          }
          FileService.write(directory, before);
          try (Service refreshed = new Service(directory)) {
            refreshed.write(after);
            refreshed.refresh();
            assertThat(refreshed.seen())
                .as("-Dlimiter.seed=%d: after %n%s, %n%s", seed, before, after)
                .isEqualTo(expected);
          }
          return INPUTS_OF_A_PAIR;
        });
  }

  /** Files as they are while they are edited: of few settings, that need one another. */
  private static final class DraftGenerator {

    private static final List<String> POLICIES =
        List.of("named", "free", "Free", "mail", "of-code");

    private final Random random;

    DraftGenerator(Random random) {
      this.random = random;
    }

    String yaml() {
      Map<String, Object> limiter = new TreeMap<>();
      limiter.put("address", Map.of("trusted-proxies", List.of("127.0.0.1", "::1")));
      Map<String, Object> policies = new TreeMap<>();
      for (String policy : POLICIES) {
        if (random.nextInt(3) == 0) {
          policies.put(policy, policy(policy));
        }
      }
      if (!policies.isEmpty()) {
        limiter.put("policies", policies);
      }
      if (random.nextInt(3) == 0) {
        String policy = random.nextInt(4) == 0 ? any() : "free";
        // A start finds the mistake of a route to "mail" at the first call of its bean.
        limiter.put(
            "routes",
            List.of(Map.of("path", "/p/**", "policy", policy.equals("mail") ? "free" : policy)));
      }
      if (random.nextInt(3) == 0) {
        Object rules =
            random.nextBoolean()
                ? "unlimited"
                : Map.of("rules", List.of(Map.of("count", 2, "time", "1h")));
        limiter.put("tiers", Map.of("pro", Map.of(any(), rules)));
      }
      return new Yaml().dump(Map.of("limiter", limiter));
    }

    private String any() {
      return POLICIES.get(random.nextInt(POLICIES.size()));
    }

    private Map<String, Object> policy(String policy) {
      Map<String, Object> members = new TreeMap<>();
      if (random.nextInt(3) > 0) {
        members.put(
            "rules",
            policy.equals("named") && random.nextBoolean()
                ? Map.of(random.nextInt(4) == 0 ? "9-per-9s" : "5-per-3600s", Map.of("count", 3))
                : List.of(Map.of("count", 3, "time", "1h")));
      }
      switch (random.nextInt(6)) {
        case 0 -> members.put("code", "a-code");
        case 1 -> members.put("observe", true);
        case 2 -> members.put("enabled", false);
        case 3 -> members.put("duplicate", Map.of("enabled", true, "by", "caller"));
        case 4 -> members.put("fallback", "deny");
        default -> {} // only rules
      }
      return members;
    }
  }

  /** Valid files. Times are long, so that nothing happens between two calls. */
  private static final class FileGenerator {

    private final Random random;

    FileGenerator(Random random) {
      this.random = random;
    }

    String yaml() {
      Map<String, Object> limiter = new LinkedHashMap<>();
      limiter.put("address", Map.of("trusted-proxies", List.of("127.0.0.1", "::1")));
      Map<String, Object> policies = new TreeMap<>();
      List<Object> routes = new ArrayList<>();
      for (String policy : List.of("free-1", "free.2", "Free3")) {
        if (chance(3, 4)) {
          Map<String, Object> members = members(policy);
          members.put("rules", listed(policy, false));
          policies.put(policy, members);
          for (int i = random.nextInt(3); i > 0; i--) {
            routes.add(route(policy));
          }
        }
      }
      if (chance(1, 2)) { // any algorithm, since no call waits by it
        policies.put("unrouted", new TreeMap<>(Map.of("rules", listed("unrouted", true))));
      }
      if (chance(3, 4)) {
        policies.put("named", named());
      }
      limiter.put("policies", policies);
      if (!routes.isEmpty()) {
        limiter.put("routes", routes);
      }
      maybe(limiter, "tiers", () -> tiers(policies));
      maybe(limiter, "exempt", this::exempt);
      maybe(limiter, "block", this::block);
      return new Yaml().dump(Map.of("limiter", limiter));
    }

    private Map<String, Object> members(String policy) {
      Map<String, Object> members = new TreeMap<>();
      maybe(members, "observe", random::nextBoolean);
      maybe(members, "fallback", () -> pick("local", "allow", "deny"));
      maybe(members, "deny-cache", random::nextBoolean);
      maybe(members, "status", () -> 400 + random.nextInt(99));
      maybe(members, "code", () -> "code-" + random.nextInt(9));
      maybe(members, "message", () -> "Message " + random.nextInt(9));
      maybe(members, "cost", () -> 1 + random.nextInt(2));
      if (chance(1, 4)) {
        members.put("header", "X-Key");
        maybe(members, "anonymous", () -> pick("address", "reject"));
      }
      maybe(members, "ban", this::ban);
      return members;
    }

    private Map<String, Object> ban() {
      Map<String, Object> ban =
          new TreeMap<>(Map.of("violations", 1 + random.nextInt(2), "within", "1h", "time", "2h"));
      if (chance(1, 3)) {
        ban.put("growth", 2);
        maybe(ban, "longest", () -> "8h");
      }
      return ban;
    }

    private Map<String, Object> named() {
      Map<String, Object> members = members("named");
      maybe(members, "enabled", random::nextBoolean);
      maybe(
          members,
          "duplicate",
          () -> {
            Map<String, Object> guard = new TreeMap<>(Map.of("enabled", true, "by", "caller"));
            maybe(guard, "count", () -> 1 + random.nextInt(2));
            maybe(guard, "time", () -> "1h");
            maybe(guard, "status", () -> 400 + random.nextInt(99));
            maybe(guard, "message", () -> "Again " + random.nextInt(9));
            return guard;
          });
      maybe(members, "rules", () -> chance(1, 2) ? listed("named", false) : byName());
      return members;
    }

    private Map<String, Object> byName() {
      Map<String, Object> rules = new TreeMap<>();
      rules.put(
          pick("5-per-3600s", "50-per-86400s"),
          chance(1, 2) ? Map.of("count", 2 + random.nextInt(9)) : Map.of("time", "2h"));
      maybe(rules, "5-per-3600s", () -> Map.of("count", 2 + random.nextInt(9), "name", "changed"));
      return rules;
    }

    private List<Object> listed(String policy, boolean waiting) {
      List<Object> rules = new ArrayList<>();
      int last = 1 + random.nextInt(2);
      for (int i = 0; i < last; i++) {
        Map<String, Object> rule =
            new TreeMap<>(Map.of("count", 2 + random.nextInt(4), "time", (1 + i) + "h"));
        String name = policy + '-' + i;
        maybe(rule, "name", () -> name);
        switch (random.nextInt(waiting && i == 0 ? 5 : 4)) {
          case 0 -> rule.put("algorithm", pick("sliding_window_counter", "SLIDING_WINDOW_LOG"));
          case 1 -> rule.put("fixed-window", Map.of("aligned", false));
          case 2 -> rule.put("token-bucket", Map.of("refill", 2, "greedy", random.nextBoolean()));
          case 3 -> {} // the default
          default -> rule.put("leaky-bucket", Map.of("queue", 1 + random.nextInt(3)));
        }
        rules.add(rule);
      }
      return rules;
    }

    private Map<String, Object> route(String policy) {
      Map<String, Object> route = new TreeMap<>();
      route.put("path", pick("/p/**", "/p/one", "/other"));
      route.put("policy", policy);
      maybe(route, "methods", () -> List.of(pick("GET", "POST"), "PUT"));
      return route;
    }

    private Map<String, Object> tiers(Map<String, Object> policies) {
      Map<String, Object> tiers = new TreeMap<>();
      maybe(tiers, "default", () -> "pro");
      Map<String, Object> pro = new TreeMap<>();
      pro.put(
          "named",
          chance(1, 2) ? "unlimited" : Map.of("rules", List.of(Map.of("count", 2, "time", "1h"))));
      if (policies.containsKey("free-1")) {
        maybe(pro, "free-1", () -> "unlimited");
      }
      tiers.put("pro", pro);
      return tiers;
    }

    private Map<String, Object> exempt() {
      Map<String, Object> exempt = new TreeMap<>();
      maybe(exempt, "addresses", () -> List.of("198.18.0.5"));
      maybe(exempt, "tokens", () -> List.of(DIGEST));
      maybe(exempt, "header", () -> "X-Let-Me");
      maybe(exempt, "users", () -> List.of("ada", "bob"));
      return exempt;
    }

    private Map<String, Object> block() {
      Map<String, Object> block = new TreeMap<>();
      maybe(block, "addresses", () -> List.of("198.18.0.5", pick("198.18.0.1", "198.18.0.8/29")));
      maybe(block, "status", () -> 400 + random.nextInt(99));
      maybe(block, "message", () -> "Blocked " + random.nextInt(9));
      return block;
    }

    private void maybe(Map<String, Object> members, String name, Supplier<?> value) {
      if (chance(1, 2)) {
        members.put(name, value.get());
      }
    }

    private boolean chance(int of, int all) {
      return random.nextInt(all) < of;
    }

    private String pick(String... words) {
      return words[random.nextInt(words.length)];
    }
  }
}
