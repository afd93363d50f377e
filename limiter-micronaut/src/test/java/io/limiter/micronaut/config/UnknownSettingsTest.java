// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.assertj.core.api.Assertions.catchThrowable;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.limiter.core.Policy;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.testing.RecordedLog;
import io.limiter.micronaut.testing.MicronautVersion;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.ApplicationContextBuilder;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.env.CommandLinePropertySource;
import io.micronaut.context.env.Environment;
import io.micronaut.context.env.PropertySource;
import io.micronaut.context.env.PropertySource.Origin;
import io.micronaut.context.env.PropertySource.PropertyConvention;
import io.micronaut.core.cli.CommandLine;
import jakarta.inject.Named;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A name under {@code limiter} that no setting has: what comes of it, and where it was written. */
@Tag("matrix")
class UnknownSettingsTest {

  private static final String MISTAKE =
      "limiter.falback%s: there is no such setting; did you mean limiter.fallback?";

  @AutoClose private final RecordedLog log = RecordedLog.of(UnknownSettings.class);

  @TempDir private Path directory;

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "application.yml|limiter: {falback: deny}",
        "application.properties|limiter.falback = deny",
        "application.json|{\"limiter\": {\"falback\": \"deny\"}}",
        "application-staging.yml|limiter.falback: deny",
        "bootstrap.yml|limiter: {falback: deny}",
      })
  void inAFileItStopsTheStart(String file, String text) throws IOException {
    Files.writeString(directory.resolve(file), text);

    assertThat(
            stopping(
                context ->
                    context
                        .overrideConfigLocations("file:" + directory)
                        .environments("staging")
                        .bootstrapEnvironment(file.startsWith("bootstrap"))))
        .hasMessageContaining(
            MISTAKE.formatted(
                " in " + MicronautVersion.either(file.replace("strap.yml", "strap"), file)));
  }

  @Test
  void inAFileThatTheStartNamesItStopsTheStart() throws IOException {
    Path file = Files.writeString(directory.resolve("more.yml"), "limiter.falback: deny");
    System.setProperty(Environment.PROPERTY_SOURCES_KEY, file.toString());
    try {
      assertThat(stopping(context -> context))
          .hasMessageContaining(
              MISTAKE.formatted(" in " + MicronautVersion.either("", "file:") + file));
    } finally {
      System.clearProperty(Environment.PROPERTY_SOURCES_KEY);
    }
  }

  @Test
  void onTheCommandLineItStopsTheStart() {
    CommandLine arguments = CommandLine.parse("--limiter.falback=deny");

    assertThat(
            stopping(context -> context.propertySources(new CommandLinePropertySource(arguments))))
        .hasMessageContaining(MISTAKE.formatted(" in main(String...args)"));
  }

  @Test
  void inAMapFromCodeItStopsTheStart() {
    assertThat(Starts.mistake(Map.of("limiter.falback", "deny"))).hasMessage(MISTAKE.formatted(""));
    assertThat(Starts.mistake(Map.of("limiter", Map.of("redis", Map.of("dedline", "1s")))))
        .hasMessage(
            "limiter.redis.dedline: there is no such setting; did you mean limiter.redis.deadline?");
  }

  @Test
  void allOfThemAreNamedAndNoValueIs() {
    assertThat(
            Starts.mistake(
                Map.of("limiter.redis.key-secrt", "s3cret-of-16-letters", "limiter.gat", "x")))
        .hasMessageContaining("limiter.redis.key-secrt: there is no such setting")
        .hasMessageContaining("did you mean limiter.redis.key-secret?")
        .hasMessageContaining("limiter.gat: there is no such setting")
        .message()
        .doesNotContain("s3cret");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "limiter.redis.keyPrefx | ; did you mean limiter.redis.key-prefix?",
        "limiter.redis.deadline.millis | ; did you mean limiter.redis.deadline?",
        "limiter.deadline | ; did you mean limiter.redis.deadline?",
        "limiter.trusted-proxies | ; did you mean limiter.address.trusted-proxies?",
        "limiter.headers.formats | ; did you mean limiter.headers.format?",
        "limiter.denial.banned-statuss | ; did you mean limiter.denial.banned-status?",
        "limiter.policy.Log-In.fallback | ; did you mean limiter.policies.Log-In.fallback?",
        "limiter.Policies.sms.fallback | ; did you mean limiter.policies.sms.fallback?",
        "limiter.denial.templates.errMsg | ; did you mean limiter.denial.template.errMsg?",
        "limiter.redis.uri | ; did you mean redis.uri?",
        "limiter.deny-cache | ; it is the prefix of settings such as limiter.deny-cache.enabled",
        "limiter.redis | ; it is the prefix of settings such as limiter.redis.enabled",
        "limiter | ; it is the prefix of settings such as limiter.enabled",
        "limiter.rules.login.count | ; a setting of the application itself needs another prefix than limiter",
      })
  void theNearestNameIsProposed(String name, String advice) {
    assertThat(Starts.mistake(Map.of(name, "1")))
        .hasMessage(name + ": there is no such setting" + advice);
  }

  @Test
  void everySpellingThatMicronautBindsIsKnown() {
    Map<String, Object> settings = new LinkedHashMap<>();
    settings.put("spec.name", "UnknownSettingsTest");
    settings.put("limiter.maxCount", 5);
    settings.put("limiter.redis.key_prefix", "a:");
    settings.put("Limiter.Zone", "UTC");
    settings.put("limiter.address.trusted-proxies[0]", "10.0.0.1");
    settings.put("limiter.address.trusted-proxies[1]", "10.0.0.2");
    settings.put("limiter.headers.retryAfter", true);
    settings.put("limiter.policies.Log.In.fallback", "deny");
    settings.put("limiter.policies", Map.of("sms", Map.of("deadline", "50ms")));
    settings.put("limiter.memory", Map.of("instances", 2));
    settings.put("limiter.denial.body", "template");
    settings.put("limiter.denial.template.data.rows[0].errMsg", "{message}");
    settings.put("limiter.redis", ""); // what YAML makes of a group without settings
    settings.put("limiter.gate", Map.of());
    settings.put("limiters.of.others", "x");
    settings.put("limiter-of-others", "x");

    assertThatNoException().isThrownBy(() -> ApplicationContext.run(settings).close());
    assertThat(log.messages()).isEmpty();
  }

  @Factory
  @Requires(property = "spec.name", value = "UnknownSettingsTest")
  static class Policies {
    @Singleton
    @Named("a")
    Policy withADot() {
      return Policy.of("Log.In", SlidingWindowLogRule.of(1, Duration.ofSeconds(1)));
    }

    @Singleton
    @Named("b")
    Policy plain() {
      return Policy.of("sms", SlidingWindowLogRule.of(1, Duration.ofSeconds(1)));
    }
  }

  /** Else a setting that a bean binds is rejected, or one that none binds is accepted. */
  @Test
  void theNamesAreThoseThatTheBeansBind() throws IOException {
    Set<String> described = new TreeSet<>();
    for (URL metadata :
        Collections.list(
            getClass()
                .getClassLoader()
                .getResources("META-INF/spring-configuration-metadata.json"))) {
      new ObjectMapper()
          .readTree(metadata.openStream())
          .path("properties")
          .forEach(property -> described.add(property.path("name").asText()));
    }
    described.removeIf(name -> !name.startsWith("limiter."));

    assertThat(described).hasSizeGreaterThan(30).isEqualTo(FixedSettings.KNOWN);
  }

  @Test
  void whereTheLimiterIsSwitchedOffNothingIsRead() {
    assertThatNoException()
        .isThrownBy(
            () ->
                ApplicationContext.run(Map.of("limiter.enabled", false, "limiter.falback", "deny"))
                    .close());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "LIMITER_FALBACK | The environment variable LIMITER_FALBACK has no effect: there is no such setting; did you mean LIMITER_FALLBACK?",
        "LIMITER_REDIS_KEYPREFIX | The environment variable LIMITER_REDIS_KEYPREFIX has no effect: there is no such setting; did you mean LIMITER_REDIS_KEY_PREFIX?",
        "LIMITER_DEMO_DATABASE_PASSWORD | The environment variable LIMITER_DEMO_DATABASE_PASSWORD has no effect: there is no such setting",
        "LIMITER_DENIAL_TEMPLATE_CODE | The environment variable LIMITER_DENIAL_TEMPLATE_CODE has no effect: the name of a variable cannot contain the names under limiter.denial.template. Write the setting into a file; its value may be a placeholder",
      })
  void anEnvironmentVariableIsAWarning(String variable, String warning) {
    startWith(variables(variable), Map.of());

    assertThat(log.messages()).containsExactly(warning);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "LIMITER_FALLBACK",
        "LIMITER_REDIS_KEY_PREFIX",
        "LIMITER_ADDRESS_TRUSTED_PROXIES[0]", // as Micronaut has LIMITER_ADDRESS_TRUSTED_PROXIES_0
        "LIMITER_HEADERS_FORMAT",
        "LIMITER_TEST_REDIS",
        "LIMITER_TEST_REDIS_URI",
        "LIMITER_TEST_REDIS_IMAGE",
        "LIMITER_SERVICE_HOST",
        "LIMITER_SERVICE_PORT",
        "LIMITER_SERVICE_PORT_HTTP",
        "LIMITER_PORT",
        "LIMITER_PORT_6379_TCP",
        "LIMITER_PORT_6379_TCP_ADDR",
        "LIMITER_PORT_6379_TCP_PORT",
        "LIMITER_PORT_6379_TCP_PROTO",
        "LIMITER_PORT[80]TCP_ADDR", // as Micronaut has LIMITER_PORT_80_TCP_ADDR
        "LIMITER_REDIS_SERVICE_HOST",
        "LIMITER_REDIS_PORT",
        "LIMITER_REDIS_PORT_6379_TCP_ADDR",
        "LIMITER_POLICIES_SERVICE_HOST",
        "LIMITERS_MAY_BE_OTHERS",
        "A_LIMITER_FALBACK",
      })
  void aSettingOrAnUnrelatedVariableCausesNoWarning(String variable) {
    Map<String, Object> values =
        Map.of(
            "LIMITER_FALLBACK", "deny",
            "LIMITER_REDIS_KEY_PREFIX", "shop:",
            "LIMITER_ADDRESS_TRUSTED_PROXIES[0]", "10.0.0.1",
            "LIMITER_HEADERS_FORMAT", "none");
    startWith(
        variables(Map.of(variable, values.getOrDefault(variable, "tcp://10.0.0.11:6379"))),
        Map.of());

    assertThat(log.messages()).isEmpty();
  }

  @Test
  void aVariableThatAPlaceholderReadsIsNoWarning() {
    startWith(
        variables("LIMITER_OF_CODES", "LIMITER_DATABASE", "LIMITER_DEFAULT", "LIMITER_UNREAD"),
        Map.of(
            "limiter.fallback", "${LIMITER_OF_CODES:deny}",
            "datasource.urls", List.of("jdbc:${limiter.database}"),
            "datasource.more", Map.of("x", "${A:x}-${LIMITER_DEFAULT}")));

    assertThat(log.messages())
        .singleElement()
        .asString()
        .startsWith("The environment variable LIMITER_UNREAD has no effect");
  }

  /** And those of a real environment, under a system property or two. */
  @Test
  void aProcessStartsWithAllOfThem() throws Exception {
    List<String> command =
        new ArrayList<>(
            List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString()));
    for (String silent :
        List.of(
            "test.redis.image=redis:7",
            "seeds=0",
            "seed=17",
            "inputs=1000",
            "soak=PT1H",
            "pictures=write",
            "api=write",
            "replies=1",
            "fuzz-seconds=1",
            "redis.key-prefix=a:",
            "mode=deny")) {
      command.add("-Dlimiter." + silent);
    }
    command.addAll(
        List.of(
            "-Dlimiter.falback=deny",
            "-XX:TieredStopAtLevel=1",
            "-cp",
            System.getProperty("java.class.path"),
            Started.class.getName()));
    ProcessBuilder process = new ProcessBuilder(command).redirectErrorStream(true);
    process
        .environment()
        .putAll(
            Map.of(
                "LIMITER_KEY_SECRET", "0123456789abcdef",
                "LIMITER_SERVICE_HOST", "10.0.0.11",
                "LIMITER_SERVICE_PORT", "6379",
                "LIMITER_PORT", "tcp://10.0.0.11:6379",
                "LIMITER_PORT_80_TCP_ADDR", "10.0.0.11",
                "LIMITER_PORT_6379_TCP_ADDR", "10.0.0.11",
                "LIMITER_ADDRESS_TRUSTED_PROXIES_0", "10.0.0.1",
                "LIMITER_REDIS_DEADLIN", "1s"));
    Process started = process.start();
    String output = new String(started.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

    assertThat(started.waitFor()).as(output).isZero();
    assertThat(output.lines().filter(line -> line.contains("UnknownSettings")))
        .satisfiesExactlyInAnyOrder(
            line ->
                assertThat(line)
                    .contains("WARN")
                    .endsWith(
                        "The system property limiter.falback has no effect: there is no such setting; did you mean limiter.fallback?"),
            line ->
                assertThat(line)
                    .contains("WARN")
                    .endsWith(
                        "The environment variable LIMITER_REDIS_DEADLIN has no effect: there is no such setting; did you mean LIMITER_REDIS_DEADLINE?"));
    assertThat(output).contains("key secret: true, deny by limiter.mode, [10.0.0.1]");
  }

  /** Says that the environment was really there. */
  static final class Started {
    public static void main(String[] none) {
      try (ApplicationContext context =
          ApplicationContext.run(
              Map.of(
                  "limiter.redis.key-secret", "${LIMITER_KEY_SECRET}",
                  "limiter.fallback", "${limiter.mode}"))) {
        System.out.printf(
            "key secret: %s, %s by limiter.mode, %s%n",
            context.getProperty("limiter.redis.key-secret", String.class).isPresent(),
            context.getProperty("limiter.fallback", String.class).orElseThrow(),
            context.getProperty("limiter.address.trusted-proxies", List.class).orElseThrow());
      }
    }
  }

  private static Throwable stopping(UnaryOperator<ApplicationContextBuilder> how) {
    return catchThrowable(
        () -> how.apply(ApplicationContext.builder(Map.of("spec.name", "none"))).start().close());
  }

  private static void startWith(PropertySource variables, Map<String, Object> settings) {
    ApplicationContext.builder(settings).propertySources(variables).start().close();
  }

  private static PropertySource variables(String... names) {
    Map<String, Object> values = new LinkedHashMap<>();
    Arrays.stream(names).forEach(name -> values.put(name, "deny"));
    return variables(values);
  }

  private static PropertySource variables(Map<String, Object> values) {
    return PropertySource.of(
        "variables", values, PropertyConvention.ENVIRONMENT_VARIABLE, Origin.of("System.env"));
  }
}
