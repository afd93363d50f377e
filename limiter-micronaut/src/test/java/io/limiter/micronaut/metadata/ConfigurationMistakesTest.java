// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static java.util.Map.entry;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.limiter.micronaut.config.DenialConfiguration;
import io.limiter.micronaut.testing.Sources;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.ApplicationContext;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** An invalid setting stops the start: which property, which value, what to do. */
class ConfigurationMistakesTest {

  static Stream<Arguments> mistakes() {
    return Stream.of(
        arguments("limiter.denial.status", 200, "set it to an error status, 400 to 599"),
        arguments("limiter.denial.duplicate-status", 600, "set it to an error status, 400 to 599"),
        arguments("limiter.denial.banned-status", 302, "set it to an error status, 400 to 599"),
        arguments(
            "limiter.denial.unavailable-status", 399, "set it to an error status, 400 to 599"),
        arguments(
            "limiter.denial.body", "nonsense", "set it to one of application, problem, template"),
        arguments("limiter.fallback", "open", "set it to one of local, allow, deny"),
        arguments(
            "limiter.headers.format",
            "draft-8",
            "set it to one of draft-11, draft-next, draft-7, x-rate-limit, x-rate-limit-epoch, to several, or to none alone"),
        arguments(
            "limiter.headers.format",
            "draft-11,draft-7",
            "two of them have the same fields: keep one"),
        arguments("limiter.anonymous", "free", "one of address, reject"),
        arguments("limiter.enabled", "yess", "set it to true or false"),
        arguments("limiter.gate.enabled", "yess", "set it to true or false"),
        arguments("limiter.headers.debug", "yess", "set it to true or false"),
        arguments("limiter.headers.retry-after", "1", "set it to true or false"),
        arguments("limiter.headers.debug", "1", "set it to true or false"),
        arguments("limiter.headers.warning", "0.8", "set it to true or false"),
        arguments("limiter.denial.code", " ", "it is blank: write a code, or leave it out"),
        arguments("limiter.denial.duplicate-code", " ", "write a code, or leave it out"),
        arguments("limiter.denial.banned-code", " ", "write a code, or leave it out"),
        arguments("limiter.denial.unavailable-code", " ", "write a code, or leave it out"),
        arguments("limiter.zone", "Mars/Base", "write one such as UTC or Europe/Berlin"),
        arguments("limiter.zone", "", "there is no such time zone"),
        arguments("limiter.max-count", 0, "set it to 1 to 1000000"),
        arguments("limiter.max-count", 1_000_001, "set it to 1 to 1000000"),
        arguments(
            "limiter.address.trusted-proxies",
            "proxy",
            "it is neither an address nor a " + "network"),
        arguments(
            "limiter.address.trusted-proxies", "10.0.0.0/40", "write, for example, " + "192.0.2.1"),
        arguments("limiter.address.trusted-proxies", "0.0.0.0/0", "this network is too wide"),
        arguments("limiter.address.trusted-proxies", "::/0", "this network is too wide"),
        arguments("limiter.address.trusted-proxies", "10.0.0.1/8", "without /8"),
        arguments("limiter.address.header", "X-Forwarded-For, Forwarded", "the name of one header"),
        arguments("limiter.address.header", "", "the name of one header"),
        arguments("limiter.address.ipv6-prefix", 31, "set it to 32 to 128"),
        arguments("limiter.address.ipv6-prefix", 129, "set it to 32 to 128"),
        arguments("limiter.memory.max-subjects", 0, "set it to 1 or more"),
        arguments("limiter.events.queue-size", 0, "set it to 1 to 100000"),
        arguments("limiter.events.queue-size", 100_001, "set it to 1 to 100000"),
        arguments("limiter.deny-cache.enabled", "maybe", "set it to true or false"),
        arguments("limiter.deny-cache.max-size", 0, "set it to 1 to 100000"),
        arguments("limiter.deny-cache.max-size", "many", "set it to a number"),
        arguments("limiter.deny-cache.max-size", "1.5", "set it to a number"),
        arguments("limiter.deny-cache.max-age", "soon", "set it to a time, such as 500ms"),
        arguments("limiter.address.ipv6-prefix", "wide", "set it to a number"),
        arguments("limiter.denial.status", "teapot", "set it to a number"),
        arguments("limiter.events.queue-size", "long", "set it to a number"),
        arguments("limiter.headers.retry-after-jitter", "half", "set it to a number"),
        arguments("limiter.max-count", "many", "set it to a number"),
        arguments("limiter.memory.instances", "many", "set it to a number"),
        arguments("limiter.memory.instances", 1.5, "set it to a number"),
        arguments("limiter.memory.max-subjects", "many", "set it to a number"),
        arguments("limiter.memory.max-subjects", 4_294_967_297L, "set it to a number"),
        arguments("limiter.deny-cache.max-age", 500, "set it to a time, such as 500ms"),
        arguments("limiter.recorder.files", "many", "set it to a number"),
        arguments("limiter.recorder.share", "half", "set it to a number"),
        arguments("limiter.recorder.max-size", "large", "set it to a size, such as 100MB"),
        arguments("limiter.recorder.max-size", "1TB", "set it to a size, such as 100MB"),
        arguments("limiter.tier-lookup.cache-size", "many", "set it to a number"),
        arguments("limiter.tier-lookup.cache-time", "long", "set it to a time, such as 500ms"),
        arguments("limiter.tier-lookup.timeout", "long", "set it to a time, such as 500ms"),
        arguments("limiter.deny-cache.max-size", 100_001, "set it to 1 to 100000"),
        arguments("limiter.deny-cache.max-age", "PT0S", "set it to more than 0 and 1s at most"),
        arguments("limiter.deny-cache.max-age", "PT1.001S", "set it to more than 0 and 1s at most"),
        arguments("limiter.policies.sms.deny-cache", "perhaps", "set it to true or false"),
        arguments("limiter.memory.instances", 0, "set it to 1 or more"),
        arguments("limiter.policies.sms.fallback", "open", "set it to one of local, allow, deny"),
        arguments("limiter.policies.sms.deadline", "0ms", "set it to 1 ms to 10 s"),
        arguments("limiter.policies.sms.deadline", "-5s", "set it to 1 ms to 10 s"),
        arguments("limiter.policies.sms.deadline", "10001ms", "set it to 1 ms to 10 s"),
        arguments("limiter.policies.sms.deadline", "soon", "set it to 1 ms to 10 s, such as 100ms"),
        arguments("limiter.policies.sms.lease", "soon", "set it to 10 ms to 10 s, such as 100ms"),
        arguments("limiter.policies.sms.warn-at", "80%", "set it to a share above 0 to 1"),
        arguments("limiter.tiers.default", "free", "this tier has no rules: write them under"),
        arguments("limiter.policies.sms.observe", "maybe", "set it to true or false"),
        arguments("limiter.policies.sms.falback", "deny", "did you mean fallback?"),
        arguments("limiter.policies.sms", "deny", "write limiter.policies.<name>.fallback"),
        arguments("limiter.policies", "deny", "write limiter.policies.<name>.fallback"),
        arguments(
            "limiter.policies[0].fallback", "deny", "write limiter.policies.<name>.fallback"));
  }

  static Stream<Arguments> mistakesWithRedis() {
    return Stream.of(
        arguments("limiter.redis.deadline", "0ms", "1 ms to 10 s"),
        arguments("limiter.redis.deadline", "soon", "set it to a time, such as 500ms"),
        arguments("limiter.redis.hard-deadline", "soon", "set it to a time, such as 500ms"),
        arguments("limiter.redis.start-timeout", "soon", "set it to a time, such as 500ms"),
        arguments("limiter.redis.batch-size", "many", "set it to a number"),
        arguments("limiter.redis.max-connections", "many", "set it to a number"),
        arguments("limiter.redis.shared-settings.interval", "soon", "set it to a time"),
        arguments("limiter.redis.deadline", "11s", "1 ms to 10 s"),
        arguments("limiter.redis.hard-deadline", "99ms", "the longest deadline, PT0.1S, to 1 min"),
        arguments("limiter.redis.hard-deadline", "61s", "the longest deadline, PT0.1S, to 1 min"),
        arguments("limiter.redis.key-prefix", "{limits}", "up to 32 letters, digits and :._-"),
        arguments("limiter.redis.start-timeout", "-1s", "0 to 1 minute"),
        arguments("limiter.redis.start-timeout", "61s", "0 to 1 minute"),
        arguments("limiter.redis.batch-size", "0", "use 1 to 16"),
        arguments("limiter.redis.batch-size", "17", "use 1 to 16"),
        arguments("limiter.redis.connections", "many", "one of auto, event-loop, shared"),
        arguments("limiter.redis.slots", "many", "one of auto, proxy"),
        arguments("limiter.redis.max-connections", "0", "set it to 1 to 1024"),
        arguments("limiter.redis.max-connections", "1025", "set it to 1 to 1024"));
  }

  @ParameterizedTest
  @MethodSource("mistakes")
  void stopsTheStart(String property, Object value, String remedy) {
    assertThat(Starts.mistake(Map.of(property, value)))
        .hasMessageContaining(property)
        .hasMessageContaining(value.toString())
        .hasMessageContaining(remedy);
  }

  @Test
  void aTierThatContradictsItsPolicyIsNamed() {
    assertThat(
            Starts.mistake(
                Sources.yaml(
                    """
                    limiter:
                      policies: {some: {cost: 5, rules: [{count: 10}]}}
                      tiers: {pro: {some: {rules: [{count: 3, time: 60s}]}}}
                    """)))
        .hasMessageStartingWith(
            "With the rules of limiter.tiers.pro: limiter.policies.some.cost = 5 in ")
        .hasMessageEndingWith(
            ": the rule '3-per-60s' admits 3 at once, so no call could ever be admitted: lower the cost, or raise its count");
  }

  @ParameterizedTest
  @MethodSource("mistakesWithRedis")
  void stopsTheStartWhereThereIsARedis(String property, Object value, String remedy) {
    assertThat(Starts.mistake(Map.of("redis.uri", "redis://127.0.0.1:1", property, value)))
        .hasMessageContaining(property)
        .hasMessageContaining(remedy);
  }

  @ParameterizedTest
  @ValueSource(strings = {"problem", "PROBLEM", "application", "APPLICATION"})
  void theFormOfTheBodyIsReadInAnyCase(String form) {
    try (ApplicationContext context = ApplicationContext.run(Map.of("limiter.denial.body", form))) {
      assertThat(context.getBean(DenialConfiguration.class).form().name())
          .isEqualToIgnoringCase(form);
    }
  }

  @Test
  void settingsAtTheirBoundsAreFine() {
    Map<String, Object> bounds =
        Map.ofEntries(
            entry("limiter.denial.status", 400),
            entry("limiter.denial.duplicate-status", 599),
            entry("limiter.denial.banned-status", 403),
            entry("limiter.denial.unavailable-status", 599),
            entry("limiter.denial.body", "problem"),
            entry("limiter.fallback", "Deny"),
            entry("limiter.headers.format", "none"),
            entry("limiter.zone", "Asia/Shanghai"),
            entry("limiter.max-count", 1_000_000),
            entry("limiter.address.trusted-proxies", " 10.0.0.0/8 ,, fc00::/7, unix"),
            entry("limiter.address.header", "forwarded"),
            entry("limiter.address.ipv6-prefix", 128),
            entry("limiter.memory.max-subjects", 1),
            entry("limiter.redis.batch-size", "1"),
            entry("limiter.redis.deadline", "10s"),
            entry("limiter.redis.hard-deadline", "1m"),
            entry("limiter.redis.key-prefix", "a:b._-9"),
            entry("limiter.redis.start-timeout", "0s"),
            entry("redis.uri", "redis://127.0.0.1:1"));
    assertThatNoException().isThrownBy(() -> ApplicationContext.run(bounds).close());
  }
}
