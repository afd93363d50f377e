// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.limiter.core.redis.connection.RedisSettings;
import io.limiter.core.resilience.Fallback;
import io.limiter.core.resilience.FallbackPolicies;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.env.Environment;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.convert.ConversionService;
import io.micronaut.core.naming.conventions.StringConvention;
import java.time.Duration;
import java.util.Collections;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Settings of single policies: {@code limiter.policies.<name>.fallback}, {@code .deadline}, {@code
 * .observe} and {@code .deny-cache}.
 *
 * <p>Every character distinguishes names of policies, including dots and capitals. The properties
 * are therefore read raw, since Micronaut binds them under normalized names. Environment variables,
 * which cannot spell such names, are not read.
 */
@Context // created at the start, so that a mistake stops it
public final class PoliciesConfiguration {

  /** Prefix of the settings of all policies. */
  public static final String PREFIX = LimiterConfiguration.PREFIX + ".policies";

  private static final String POLICIES = "policies";

  private final Map<String, Fallback> fallbacks = new TreeMap<>();
  private final Map<String, Duration> deadlines = new TreeMap<>();
  private final Set<String> observed = new TreeSet<>();
  private final Set<String> asked = new TreeSet<>();
  private final Map<String, String> written = new TreeMap<>();

  PoliciesConfiguration(Environment environment) {
    environment
        .getProperties(LimiterConfiguration.PREFIX, StringConvention.RAW)
        .forEach((property, value) -> read(property, value, environment));
  }

  /** A file has a property for each leaf; a map from code may contain maps. */
  private void read(String path, @Nullable Object value, ConversionService conversion) {
    if (value instanceof Map<?, ?> map) {
      map.forEach((name, inner) -> read(path + '.' + name, inner, conversion));
    } else if (path.matches(POLICIES + "([.\\[].*)?")) {
      String text = value == null ? "" : value.toString();
      String property = LimiterConfiguration.PREFIX + '.' + path;
      int member = path.lastIndexOf('.');
      if (member <= POLICIES.length() || path.charAt(POLICIES.length()) != '.') {
        throw mistake(property, text, "");
      }
      set(path.substring(POLICIES.length() + 1, member), property, text, conversion);
    }
  }

  private void set(String policy, String property, String value, ConversionService conversion) {
    switch (property.substring(property.lastIndexOf('.') + 1)) {
      case "fallback" -> fallbacks.put(policy, EnumSetting.of(Fallback.class, property, value));
      case "deadline" -> deadlines.put(policy, deadline(property, value, conversion));
      case "observe" -> {
        if (EnumSetting.isOn(property, value)) {
          observed.add(policy);
        }
      }
      case "deny-cache" -> {
        if (!EnumSetting.isOn(property, value)) {
          asked.add(policy);
        }
      }
      default -> throw mistake(property, value, " '" + policy + "'");
    }
    written.put(policy, property + " = " + value);
  }

  private static Duration deadline(String property, String value, ConversionService conversion) {
    Optional<Duration> deadline = conversion.convert(value, Duration.class);
    return deadline
        .filter(time -> time.compareTo(RedisSettings.MIN_DEADLINE) >= 0)
        .filter(time -> time.compareTo(RedisSettings.MAX_DEADLINE) <= 0)
        .orElseThrow(
            () ->
                new ConfigurationException(
                    "%s = %s: give it 1 ms to 10 s, such as 100ms".formatted(property, value)));
  }

  private static ConfigurationException mistake(String property, String value, String policy) {
    return new ConfigurationException(
        "%s = %s: the settings of a policy%s are fallback, deadline, observe and deny-cache: write %s.<name>.fallback, for example"
            .formatted(property, value, policy, PREFIX));
  }

  /**
   * The fallbacks of all policies.
   *
   * @param usual the fallback of policies without their own setting
   */
  public FallbackPolicies fallbacks(Fallback usual) {
    return new FallbackPolicies(usual, fallbacks);
  }

  /** The deadlines of policies with their own setting. */
  public Map<String, Duration> deadlines() {
    return Collections.unmodifiableMap(deadlines);
  }

  /** The policies that are only observed: they never deny. None by default. */
  public Set<String> observed() {
    return Collections.unmodifiableSet(observed);
  }

  /** The policies whose denied calls are decided by Redis each time. None by default. */
  @Internal
  public Set<String> withoutDenyCache() {
    return Collections.unmodifiableSet(asked);
  }

  /** For each policy with settings one property, as it was written, by the policy's name. */
  @Internal
  public Map<String, String> written() {
    return Collections.unmodifiableMap(written);
  }
}
