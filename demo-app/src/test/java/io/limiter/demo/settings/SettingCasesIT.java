// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo.settings;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.SoftAssertions.assertSoftly;

import io.limiter.demo.settings.PackedService.Answer;
import io.limiter.demo.settings.SettingsTable.Kind;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What settings do together, in a process. */
@Tag("processes")
class SettingCasesIT {

  private static final List<?> FIVE = List.of(Map.of("count", 5, "time", "60s"));

  /** A file with what processes without Redis have, a route to a policy, and these settings. */
  private static String file(String policy, Object... settings) {
    Map<String, Object> all = SettingsTable.base(Kind.MEMORY);
    all.keySet().removeIf(name -> name.matches("limiter\\.(policies|routes|block|exempt).*"));
    if (!policy.isEmpty()) {
      all.put("limiter.routes", List.of(Map.of("path", "/t/**", "policy", policy)));
    }
    for (int i = 0; i < settings.length; i += 2) {
      all.put(settings[i].toString(), settings[i + 1]);
    }
    return PackedService.yaml(all);
  }

  @Test
  void aVariableNamesARuleAPolicyWithADigitAndAPlaceInAList() {
    String file =
        file(
            "api-2",
            "limiter.policies.api-2.rules",
            FIVE,
            "limiter.policies.login.rules",
            List.of(Map.of("count", 5, "time", "60s"), Map.of("count", 50, "time", "1h")));
    Map<String, String> variables =
        Map.of(
            "LIMITER_POLICIES_PASSCODES_RULES_3_PER_60S_COUNT", "1",
            "LIMITER_POLICIES_API_2_OBSERVE", "true",
            "LIMITER_POLICIES_LOGIN_RULES_0_COUNT", "2",
            "LIMITER_POLICIES_ARGUMENT_RULES_0_COUNT", "2");
    try (PackedService service = PackedService.start(file, variables)) {
      assertSoftly(
          softly -> {
            softly.assertThat(service.statuses(2, "/passcodes")).isEqualTo("200 429");
            softly
                .assertThat(service.operator("/limits/api-2").body())
                .contains("\"observed\":true");
            softly
                .assertThat(service.operator("/limits/login").body())
                .contains("\"count\":2,\"time\":\"PT1M\"", "\"count\":50,\"time\":\"PT1H\"");
            softly
                .assertThat(service.log().lines())
                .as("a policy without a list in a file has no first rule")
                .anyMatch(
                    line ->
                        line.contains("LIMITER_POLICIES_ARGUMENT_RULES_0_COUNT")
                            && line.contains("no effect"));
          });
    }
  }

  @Test
  void aVariableThatMayMeanTwoPoliciesStopsTheStart() {
    assertThat(
            PackedService.stopped(file(""), Map.of("LIMITER_POLICIES_WITH_DOTS_OBSERVE", "true")))
        .contains("LIMITER_POLICIES_WITH_DOTS_OBSERVE", "with-dots", "with.dots");
  }

  @Test
  void aPolicyOfARouteIsSwitchedOff() {
    try (PackedService service =
        PackedService.start(
            file("off", "limiter.policies.off.rules", FIVE, "limiter.policies.off.enabled", false),
            Map.of())) {
      assertThat(service.statuses(6, "/t/any")).doesNotContain("429");
    }
  }

  @Test
  void callersAreNoLongerExemptOrBlockedOnceTheFileDoesNotNameThem() {
    String file =
        file("all", "limiter.policies.all.rules", List.of(Map.of("count", 1, "time", "60s")));
    String digest = SettingsTable.digest();
    String both =
        file(
            "all",
            "limiter.policies.all.rules",
            List.of(Map.of("count", 1, "time", "60s")),
            "limiter.exempt.tokens",
            List.of(digest),
            "limiter.block.addresses",
            List.of("198.51.100.1"));
    try (PackedService service = PackedService.start(both, Map.of())) {
      assertThat(seen(service)).isEqualTo("200 200, 403");

      assertThat(service.refresh(file)).doesNotContain("ERROR");
      assertThat(seen(service)).isEqualTo("200 429, 200");

      assertThat(service.refresh(both.replace(digest, "no digest")))
          .contains("ERROR", "limiter.exempt.tokens");
      assertThat(seen(service)).isEqualTo("200 429, 200");

      assertThat(service.refresh(both.replace("198.51.100.1", "a.name")))
          .contains("ERROR", "limiter.block.addresses");
      assertThat(seen(service)).isEqualTo("200 429, 200");

      assertThat(service.refresh(both)).doesNotContain("ERROR");
      assertThat(seen(service)).isEqualTo("200 200, 403");
    }
  }

  /** Two calls with the token, and one from the blocked address. */
  private static String seen(PackedService service) {
    return service.statuses(2, "/t/any", "X-RateLimit-Exempt", SettingsTable.TOKEN)
        + ", "
        + service.from("198.51.100.1", "/health-free").status();
  }

  @Test
  void amongThePoliciesOfARouteOneThatObservesDeniesNoCall() {
    String file =
        file(
            "",
            "limiter.policies.a.rules",
            List.of(Map.of("count", 100, "time", "60s")),
            "limiter.policies.b.rules",
            List.of(Map.of("count", 1, "time", "60s")),
            "limiter.policies.b.observe",
            true,
            "limiter.routes",
            both());
    try (PackedService service = PackedService.start(file, Map.of())) {
      assertThat(service.statuses(5, "/t/any")).isEqualTo("200 200 200 200 200");
    }
  }

  @Test
  void amongThePoliciesOfARouteEachCountsTheFailuresThatItNames() {
    List<?> failures = List.of(Map.of("count", 1, "time", "60s", "counts", "failures"));
    String file =
        file(
            "",
            "limiter.policies.a.rules",
            List.of(Map.of("count", 100, "time", "60s")),
            "limiter.policies.b.rules",
            failures,
            "limiter.policies.b.failed-on",
            List.of(404),
            "limiter.routes",
            both());
    try (PackedService service = PackedService.start(file, Map.of())) {
      assertThat(service.statuses(3, "/t/any?status=400")).isEqualTo("400 400 400");
      assertThat(service.statuses(2, "/t/any?status=404")).isEqualTo("404 429");
    }
  }

  private static List<?> both() {
    return List.of(Map.of("path", "/t/**", "policy", "a"), Map.of("path", "/t/**", "policy", "b"));
  }

  /** Each of them added to a file that was right, with what the log then says. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "limiter.polices.passcodes.observe | true | limiter.polices | did you mean limiter.policies",
        "limiter.policies.passcodes.rules.count | 5 | limiter.policies.passcodes.rules.count | list",
      })
  void aMistakeIsRejectedByARefreshAsByTheStart(
      String setting, String value, String key, String remedy) {
    String wrong = file("", setting, value);
    assertSoftly(
        softly -> {
          softly
              .assertThat(PackedService.stopped(wrong, Map.of()))
              .contains(key, remedy)
              .doesNotContain("did you mean counts");
          try (PackedService service = PackedService.start(file(""), Map.of())) {
            softly
                .assertThat(service.refresh(wrong))
                .contains("ERROR", key, remedy)
                .doesNotContain("did you mean counts");
            softly.assertThat(service.statuses(4, "/passcodes")).isEqualTo("200 200 200 429");
          }
        });
  }

  @Test
  void whatARefreshCannotChangeIsNamedOnce() {
    try (PackedService service = PackedService.start(file(""), Map.of())) {
      String changed =
          file("", "limiter.max-count", 77, "limiter.policies.passcodes.observe", true);
      assertThat(service.refresh(changed)).contains("need a restart", "limiter.max-count");
      Answer passcodes = service.operator("/limits/passcodes");
      assertThat(passcodes.body()).as("the rest is in effect").contains("\"observed\":true");
    }
  }
}
