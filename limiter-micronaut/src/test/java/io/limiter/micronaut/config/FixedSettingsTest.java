// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.limiter.core.testing.RecordedLog;
import io.limiter.micronaut.config.CallerConfiguration.AddressConfiguration;
import io.limiter.micronaut.config.CallerConfiguration.BlockConfiguration;
import io.limiter.micronaut.config.CallerConfiguration.ExemptConfiguration;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.env.PropertySource;
import io.micronaut.context.env.PropertySource.Origin;
import io.micronaut.context.env.PropertySource.PropertyConvention;
import io.micronaut.runtime.context.scope.refresh.RefreshEvent;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The words of switches, and what a refresh makes of changed, removed and mistyped settings. */
class FixedSettingsTest {

  private static final String MISTAKE = "limiter.gate.enabled = yess: set it to true or false";
  private static final String DIGEST = "0123456789abcdef".repeat(4);

  @AutoClose private final RecordedLog log = RecordedLog.of(FixedSettings.class);
  @AutoClose private final RecordedLog names = RecordedLog.of(UnknownSettings.class);

  @AutoClose
  private final RecordedLog refreshed =
      RecordedLog.ofInfo("io.limiter.micronaut.metadata.ConfiguredPolicies$PoliciesRefresh");

  @TempDir private Path directory;

  @Test
  void aMistypedSwitchStopsTheStart() throws IOException {
    assertThat(Starts.mistake(Map.of("limiter.gate.enabled", "yess"))).hasMessage(MISTAKE);
    assertThat(Starts.mistake(Map.of("limiter", Map.of("gate", Map.of("enabled", "yess")))))
        .hasMessage(MISTAKE);
    assertThat(Starts.mistake(Map.of("limiter.gate.enabled", "y${of:es}s", "of", "es")))
        .hasMessage(MISTAKE);
    assertThat(Starts.mistake(Map.of("limiter.gate.enabled", "")))
        .hasMessage("limiter.gate.enabled = : set it to true or false");

    write("limiter.gate.enabled: yess");
    assertThat(catchThrowable(() -> start().close())).hasMessageContaining(MISTAKE);
  }

  /** Micronaut would read them as false. */
  @ParameterizedTest
  @ValueSource(strings = {" true", "on ", "y", "1"})
  void aWordThatMicronautDoesNotReadAsItIsMeantStopsTheStart(String word) {
    assertThat(Starts.mistake(Map.of("limiter.gate.enabled", word)))
        .hasMessage("limiter.gate.enabled = %s: set it to true or false", word);
  }

  @Test
  void aMistypedSwitchInAVariableOrASystemPropertyStopsTheStart() {
    assertThat(
            catchThrowable(
                () -> startWithVariables(Map.of("LIMITER_GATE_ENABLED", "yess")).close()))
        .hasMessageContaining(MISTAKE);

    System.setProperty("limiter.gate.enabled", "yess");
    try {
      assertThat(Starts.mistake(Map.of())).hasMessage(MISTAKE);
    } finally {
      System.clearProperty("limiter.gate.enabled");
    }
  }

  @Test
  void switchesAreReadInAnyCase() {
    try (ApplicationContext context =
        ApplicationContext.run(
            Map.of("limiter.gate.enabled", "No", "limiter.health.required", "ON"))) {
      assertThat(context.getBean(LimiterConfiguration.GateConfiguration.class).enabled()).isFalse();
      assertThat(context.getBean(LimiterConfiguration.HealthConfiguration.class).required())
          .isTrue();
    }
  }

  @Test
  void allMistakesAreNamed() {
    assertThat(
            Starts.mistake(
                Map.of(
                    "limiter.gat", "x",
                    "limiter.gate.enabled", "yess",
                    "limiter.headers.debug", "2")))
        .hasMessageContaining("limiter.gat: there is no such setting")
        .hasMessageContaining(MISTAKE)
        .hasMessageContaining("limiter.headers.debug = 2: set it to true or false");
  }

  /** Else a mistyped word would be false silently, or another setting could only be a switch. */
  @Test
  void theSwitchesAreThoseThatTheBeansBindAsSuch() throws IOException {
    assertThat(bound("boolean")).isEqualTo(FixedSettings.SWITCHES);
  }

  /** Else what is no number or time would be the default silently. */
  @ParameterizedTest
  @CsvSource({
    "int, java.lang.Integer",
    "long, java.lang.Long",
    "double, java.lang.Double",
    "java.time.Duration, java.time.Duration"
  })
  void numbersAndTimesAreThoseThatTheBeansBindAsSuch(String type, Class<?> checked)
      throws IOException {
    Set<String> names = new TreeSet<>(FixedSettings.TYPES.get(checked));
    names.remove("limiter.overrides.interval"); // of a module
    Set<String> expected = bound(type);
    expected.removeIf(name -> !name.startsWith("limiter."));
    // One has a check of its own, the other is a size.
    expected.removeAll(Set.of("limiter.block.status", "limiter.recorder.max-size"));

    assertThat(names).isNotEmpty().isEqualTo(expected);
  }

  private static Set<String> bound(String type) throws IOException {
    Set<String> names = new TreeSet<>();
    for (JsonNode property :
        new ObjectMapper()
            .readTree(
                Path.of("target/classes/META-INF/spring-configuration-metadata.json").toFile())
            .path("properties")) {
      if (property.path("type").asText().equals(type)) {
        names.add(property.path("name").asText());
      }
    }
    return names;
  }

  @Test
  void aRemovedListIsNoLongerInEffect() throws IOException {
    write(
        """
        limiter:
          exempt: {tokens: [%s], users: [ann, bob], header: X-Exempt}
          block: {addresses: [203.0.113.7, 2001:db8::/32], status: 410, message: Away}
        """
            .formatted(DIGEST));
    try (ApplicationContext context = start()) {
      assertThat(exempt(context).orElseThrow())
          .satisfies(
              exempt -> {
                assertThat(exempt.tokens()).hasSize(1);
                assertThat(exempt.users()).containsExactlyInAnyOrder("ann", "bob");
                assertThat(exempt.header()).isEqualTo("X-Exempt");
              });
      assertThat(block(context).orElseThrow().status()).isEqualTo(410);

      write("limiter: {exempt: {users: ann}, block: {users: [eve]}}");
      refresh(context);

      assertThat(exempt(context).orElseThrow())
          .satisfies(
              exempt -> {
                assertThat(exempt.tokens()).isEmpty();
                assertThat(exempt.users()).containsExactly("ann");
                assertThat(exempt.header()).isEqualTo("X-RateLimit-Exempt");
              });
      assertThat(block(context).orElseThrow())
          .satisfies(
              block -> {
                assertThat(block.addresses().isEmpty()).isTrue();
                assertThat(block.status()).isEqualTo(403);
                assertThat(block.message()).isEqualTo("{limiter.blocked}");
              });

      write("other: x");
      refresh(context);

      assertThat(exempt(context)).isEmpty();
      assertThat(block(context)).isEmpty();
      assertThat(log.messages()).isEmpty();
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "limiter: {exempt: {tokens: [my-token]}}",
        "limiter: {block: {addresses: [10.0.0.1/8]}}",
        "limiter: {block: {addresses: [10.0.0.1], status: many}}",
        "limiter: {block: {addresses: [10.0.0.1], status: 200}}",
        "limiter: {exempt: {header: X Header}}",
        "limiter: {falback: deny}",
        "limiter: {gate: {enabled: yess}}",
        "limiter: {zone: '${nowhere}'}",
        "limiter: {denial: {template: [a, b]}}",
      })
  void aCorrectedMistakeDoesNotBlockLaterRefreshes(String mistake) throws IOException {
    write("limiter: {block: {addresses: [203.0.113.7]}}");
    try (ApplicationContext context = start()) {
      write(mistake);
      refresh(context);

      assertThat(refreshed.lines())
          .singleElement()
          .asString()
          .startsWith(
              "ERROR The refreshed configuration is invalid, so all limits remain unchanged")
          .doesNotContain("my-token");
      assertThat(block(context)).isPresent();
      refreshed.clear();

      write("other: x");
      refresh(context);

      assertThat(refreshed.lines())
          .containsExactly("INFO The limits of the refreshed configuration are in effect");
      assertThat(block(context)).isEmpty();
      assertThat(exempt(context)).isEmpty();
      assertThat(log.messages()).isEmpty();
    }
  }

  /** RefreshScope would otherwise bind them again, in part, and throw at a mistake. */
  @Test
  void aRefreshBindsNothingAgain() throws IOException {
    write("limiter: {max-count: 5, zone: UTC, address.ipv6-prefix: 48}");
    try (ApplicationContext context = start()) {
      LimiterConfiguration limiter = context.getBean(LimiterConfiguration.class);
      AddressConfiguration address = context.getBean(AddressConfiguration.class);

      write("limiter: {max-count: -7, zone: Mars, address.ipv6-prefix: 500}");
      refresh(context);

      assertThat(limiter.maxCount()).isEqualTo(5);
      assertThat(address.ipv6Prefix()).isEqualTo(48);
      assertThat(context.getBean(LimiterConfiguration.class)).isSameAs(limiter);
      assertThat(refreshed.lines())
          .containsExactly("INFO The limits of the refreshed configuration are in effect");
    }
  }

  @Test
  void whatNeedsARestartIsLoggedOnce() throws IOException {
    write(
        """
        limiter:
          zone: UTC
          address: {trusted-proxies: [10.0.0.1, 10.0.0.2]}
          redis: {key-secret: "${secret}"}
          denial: {body: template, template: {a: "{code}"}}
        secret: sixteen-or-more-characters
        """);
    try (ApplicationContext context = start()) {
      FixedSettings fixed = context.getBean(FixedSettings.class);
      refresh(context);
      assertThat(log.messages()).isEmpty();

      write(
          """
          limiter:
            address: {trusted-proxies: [10.0.0.1]}
            redis: {key-secret: "${secret}", deadline: 1s}
            denial: {body: template, template: {a: "{code}", b: 1}}
            block: {users: [eve]}
          secret: another-secret-of-some-length
          """);
      refresh(context);
      refresh(context);

      assertThat(fixed.changedSinceStart())
          .containsExactly(
              "limiter.address.trusted-proxies",
              "limiter.denial.template",
              "limiter.redis.deadline",
              "limiter.redis.key-secret",
              "limiter.zone");
      assertThat(log.lines())
          .containsExactly(
              "WARN These settings have changed and need a restart: "
                  + String.join(", ", fixed.changedSinceStart()));
      log.clear();

      write(
          """
          limiter:
            zone: Europe/Berlin
            address.trusted-proxies: 10.0.0.1,10.0.0.2
            redis: {key-secret: sixteen-or-more-characters}
            denial: {body: template, template: {a: "{code}"}}
          """);
      refresh(context);

      assertThat(log.messages())
          .containsExactly("These settings have changed and need a restart: limiter.zone");
    }
  }

  @Test
  void aPlaceholderWithoutAValueIsNamedWithItsSetting() throws IOException {
    write("limiter.zone: UTC");
    try (ApplicationContext context = start()) {
      write("limiter.zone: ${nowhere}");
      refresh(context);

      assertThat(refreshed.lines())
          .singleElement()
          .asString()
          .endsWith(
              "limiter.zone: Could not resolve placeholder ${nowhere}: set it, or add a default, as in ${name:default}");
    }
  }

  @Test
  void aPlaceholderMayNameTheSettingOfAPolicyAtARefresh() throws IOException {
    String policy = "limiter.policies.own.rules: [{count: %s, time: 60s}]%n";
    write(policy.formatted("3") + "limiter.max-count: \"${limiter.policies.own.rules[0].count}\"");
    try (ApplicationContext context = start()) {
      write(
          policy.formatted("\"${limiter.max-count}\"")
              + "limiter: {max-count: 2, zone: \"${limiter.policies.own.rules[0].time}\"}");
      refresh(context);

      assertThat(refreshed.lines())
          .containsExactly("INFO The limits of the refreshed configuration are in effect");
      assertThat(context.getBean(FixedSettings.class).changedSinceStart())
          .containsExactly("limiter.max-count", "limiter.zone");
    }
  }

  /** A rejected refresh has changed nothing, so it logs no advice either. */
  @Test
  void aRejectedRefreshNamesOnlyItsMistake() throws IOException {
    write("limiter.zone: UTC");
    try (ApplicationContext context = start()) {
      write("limiter: {zone: Europe/Berlin, policies: {nobodys: {fallback: deny}}}");
      refresh(context);

      assertThat(log.messages()).isEmpty();
      assertThat(refreshed.lines()).singleElement().asString().contains("nobodys");
    }
  }

  @Test
  void anUnknownVariableIsAWarningOnceAndRejectsNoRefresh() {
    try (ApplicationContext context = startWithVariables(Map.of("LIMITER_FALBACK", "deny"))) {
      assertThat(names.messages()).hasSize(1);

      refresh(context);

      assertThat(names.messages()).hasSize(1);
      assertThat(refreshed.lines())
          .containsExactly("INFO The limits of the refreshed configuration are in effect");
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "idempotency: {max-answer: 5, routes: [{path: /orders}]} | max-answer   | idempotency",
        "idempotency: {max-answer: 5, routes: [{path: /orders}]} | routes       | idempotency",
        "client: {max-wait: 5}                                  | max-wait     | client",
        "overrides: {enabled: true}                              | enabled      | management",
        "overrides: {interval: 1s}                               | interval     | management",
        "management: {show-subjects: true}                       | show-subjects | management"
      })
  void aSettingOfAnAbsentModuleNamesItsDependency(String group, String setting, String module)
      throws IOException {
    String remedy =
        " without the module limiter-%1$s: add the dependency io.limiter:limiter-%1$s, or remove the setting"
            .formatted(module);
    String name =
        "limiter." + group.substring(0, group.indexOf(':') + 1).replace(':', '.') + setting;
    write("limiter: {%s}".formatted(group));
    assertThat(catchThrowable(this::start))
        .rootCause()
        .hasMessageContaining(name + " in ")
        .hasMessageContaining(": there is no such setting" + remedy);
    write("limiter.zone: UTC");
    String variable = UnknownSettings.variable(name);
    startWithVariables(Map.of(variable, "5")).close();
    assertThat(names.messages())
        .containsExactly(
            "The environment variable %s has no effect: there is no such setting%s"
                .formatted(variable, remedy));
  }

  @ParameterizedTest
  @CsvSource({"limits, true, management", "limits, false, ''", "idempotency, true, idempotency"})
  void anEndpointOfAnAbsentModuleIsAWarning(String endpoint, boolean enabled, String module) {
    try (RecordedLog warnings = RecordedLog.of(ModuleSettings.class)) {
      String setting = "endpoints.%s.enabled".formatted(endpoint);
      ApplicationContext.run(Map.of("spec.name", "none", setting, enabled)).close();
      assertThat(warnings.messages())
          .hasSize(enabled ? 1 : 0)
          .allSatisfy(
              line ->
                  assertThat(line)
                      .startsWith(setting + " is true, but")
                      .contains("add the dependency io.limiter:limiter-" + module + ", unless"));
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "by: idempotency_key",
        "by: IDEMPOTENCY-KEY",
        "replay: 24h",
        "max-wait: 2s",
        "charge-repetitions: true",
        "require-idempotency-key: false"
      })
  void aMemberThatAModuleHasInItsPlaceNamesThat(String member) throws IOException {
    write("limiter: {policies: {orders: {duplicate: {%s}}}}".formatted(member));
    String name = member.substring(0, member.indexOf(':'));
    String value = member.substring(member.indexOf(' ') + 1);
    assertThat(catchThrowable(this::start))
        .rootCause()
        .hasMessageContaining("limiter.policies.orders.duplicate.%s = %s".formatted(name, value))
        .hasMessageContaining(
            "no policy compares submissions by their Idempotency-Key: remove it, and write limiter.idempotency.routes, which the module limiter-idempotency reads");
  }

  private void write(String yaml) throws IOException {
    Files.writeString(directory.resolve("application.yml"), yaml);
  }

  private ApplicationContext start() {
    return ApplicationContext.builder(Map.of("spec.name", "none"))
        .overrideConfigLocations("file:" + directory)
        .start();
  }

  private static ApplicationContext startWithVariables(Map<String, Object> variables) {
    return ApplicationContext.builder(Map.of("spec.name", "none"))
        .propertySources(
            PropertySource.of(
                "variables",
                variables,
                PropertyConvention.ENVIRONMENT_VARIABLE,
                Origin.of("System.env")))
        .start();
  }

  private static void refresh(ApplicationContext context) {
    context
        .getEventPublisher(RefreshEvent.class)
        .publishEvent(new RefreshEvent(context.getEnvironment().refreshAndDiff()));
  }

  private static Optional<ExemptConfiguration> exempt(ApplicationContext context) {
    return context.getBean(PoliciesConfiguration.class).current().exempt();
  }

  private static Optional<BlockConfiguration> block(ApplicationContext context) {
    return context.getBean(PoliciesConfiguration.class).current().block();
  }
}
