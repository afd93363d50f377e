// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.limiter.micronaut.config.CallerConfiguration.BlockConfiguration;
import io.limiter.micronaut.config.CallerConfiguration.ExemptConfiguration;
import io.limiter.micronaut.definition.PolicyMember;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.env.Environment;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.convert.format.ReadableBytes;
import io.micronaut.core.value.PropertyResolver;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Checks the settings with fixed names, at the start and at each refresh: there are no others, and
 * a switch is true or false. A refresh changes few of them; it logs which others need a restart.
 */
@Internal
@Context // created at the start, so that a mistake stops it
public final class FixedSettings {

  private static final Logger LOG = LoggerFactory.getLogger(FixedSettings.class);

  /** The settings that are true or false. Micronaut reads a mistyped true as false. */
  static final Set<String> SWITCHES =
      names(
          """
          limiter.enabled
          limiter.denial.numbers
          limiter.deny-cache.enabled
          limiter.gate.enabled
          limiter.headers.debug limiter.headers.retry-after limiter.headers.warning
          limiter.health.enabled limiter.health.required
          limiter.metrics.enabled
          limiter.redis.enabled limiter.redis.shared-settings.enabled
          """,
          ModuleSettings.switches());

  /**
   * All settings with fixed names. This is a list, since reading the definitions of the beans that
   * bind them takes milliseconds of each start; a test compares it with the settings that the
   * compiler found in them. Those of modules that are there are among them.
   */
  static final Set<String> KNOWN =
      names(
          String.join(" ", SWITCHES)
              + """

              limiter.anonymous limiter.fallback limiter.max-count limiter.zone
              limiter.address.header limiter.address.ipv6-prefix limiter.address.trusted-proxies
              limiter.block.addresses limiter.block.users
              limiter.block.message limiter.block.status
              limiter.denial.body
              limiter.denial.in-flight-message limiter.denial.too-costly-message
              limiter.denial.code limiter.denial.message limiter.denial.status
              limiter.denial.banned-code limiter.denial.banned-message
              limiter.denial.banned-status
              limiter.denial.duplicate-code limiter.denial.duplicate-message
              limiter.denial.duplicate-status
              limiter.denial.unavailable-code limiter.denial.unavailable-message
              limiter.denial.unavailable-status
              limiter.deny-cache.max-age limiter.deny-cache.max-size
              limiter.events.queue-size
              limiter.exempt.addresses limiter.exempt.users
              limiter.exempt.header limiter.exempt.tokens
              limiter.headers.format limiter.headers.retry-after-jitter
              limiter.memory.instances limiter.memory.max-subjects
              limiter.redis.sentinel.password limiter.redis.sentinel.username
              limiter.redis.connections limiter.redis.max-connections
              limiter.redis.deadline limiter.redis.hard-deadline limiter.redis.start-timeout
              limiter.redis.key-prefix limiter.redis.key-secret
              limiter.redis.batch-size limiter.redis.slots
              limiter.redis.shared-settings.interval
              limiter.recorder.file limiter.recorder.files
              limiter.recorder.max-size limiter.recorder.share
              limiter.tier-lookup.cache-size limiter.tier-lookup.cache-time
              limiter.tier-lookup.headers limiter.tier-lookup.timeout
              """,
          ModuleSettings.others());

  /** Settings whose text has to be of a type. A test compares them with what the beans bind. */
  static final Map<Class<?>, Set<String>> TYPES =
      Map.of(
          Integer.class,
          names(
              """
              limiter.address.ipv6-prefix
              limiter.denial.status limiter.denial.banned-status
              limiter.denial.duplicate-status limiter.denial.unavailable-status
              limiter.deny-cache.max-size limiter.events.queue-size
              limiter.memory.instances limiter.memory.max-subjects
              limiter.recorder.files limiter.redis.batch-size limiter.redis.max-connections
              limiter.tier-lookup.cache-size
              """,
              Stream.of()),
          Long.class,
          Set.of("limiter.max-count"),
          Double.class,
          Set.of("limiter.headers.retry-after-jitter", "limiter.recorder.share"),
          Duration.class,
          names(
              """
              limiter.deny-cache.max-age limiter.overrides.interval
              limiter.redis.deadline limiter.redis.hard-deadline limiter.redis.start-timeout
              limiter.redis.shared-settings.interval
              limiter.tier-lookup.cache-time limiter.tier-lookup.timeout
              """,
              Stream.of()),
          ReadableBytes.class,
          Set.of("limiter.recorder.max-size"));

  private final UnknownSettings unknown = new UnknownSettings();
  private final Map<String, Integer> atStart;
  private List<String> changed = List.of();
  private List<String> logged = List.of();

  FixedSettings(Environment environment) {
    this.atStart = checked(SettingSources.atStart(environment));
    ModuleSettings.warnOfEndpoints(environment);
  }

  /**
   * Checks what these sources have now.
   *
   * @throws ConfigurationException naming all settings that are invalid
   */
  public synchronized void check(SettingSources sources) {
    Map<String, Integer> now = checked(sources);
    changed =
        Stream.concat(atStart.keySet().stream(), now.keySet().stream())
            .filter(name -> !Objects.equals(atStart.get(name), now.get(name)))
            .distinct()
            .sorted()
            .toList();
  }

  /** The settings that differed from those of the start at the last check, and need a restart. */
  public synchronized List<String> changedSinceStart() {
    return changed;
  }

  /** Logs them, unless the last warning named the same ones. */
  public synchronized void logChangedSinceStart() {
    if (!changed.equals(logged)) {
      logged = changed;
      if (!changed.isEmpty()) {
        LOG.warn("These settings have changed and need a restart: {}", String.join(", ", changed));
      }
    }
  }

  private static Set<String> names(String table, Stream<String> ofModules) {
    return Stream.concat(Stream.of(table.split("\\s+")), ofModules)
        .collect(Collectors.toUnmodifiableSet());
  }

  /** Returns hashes of the texts of all settings that need a restart: some are secret. */
  private Map<String, Integer> checked(SettingSources sources) {
    List<String> mistakes = new ArrayList<>(unknown.mistakes(sources.all()));
    Map<String, Integer> hashes = new HashMap<>();
    KNOWN.stream()
        .filter(name -> !LimitKeys.isUnder(ExemptConfiguration.PREFIX, name))
        .filter(name -> !LimitKeys.isUnder(BlockConfiguration.PREFIX, name))
        .sorted()
        .forEach(
            name ->
                text(name, sources.properties(), mistakes)
                    .ifPresent(text -> hashes.put(name, text.hashCode())));
    if (!mistakes.isEmpty()) {
      throw new ConfigurationException(String.join("\n", mistakes));
    }
    for (String prefix : ModuleSettings.prefixes()) {
      sources
          .properties()
          .getProperties(prefix)
          .forEach((name, value) -> hashes.put(prefix + '.' + name, Objects.hashCode(value)));
    }
    new TemplateConfiguration(sources.properties())
        .fields()
        .ifPresent(
            fields -> hashes.put(TemplateConfiguration.PREFIX, fields.toString().hashCode()));
    return hashes;
  }

  private static Optional<String> text(
      String name, PropertyResolver settings, List<String> mistakes) {
    try {
      Optional<String> text = settings.getProperty(name, String.class);
      if (SWITCHES.contains(name)) {
        // Not stripped: Micronaut reads a word with a space as false.
        text.filter(word -> !PolicyMember.SWITCH_WORDS.contains(word.toLowerCase(Locale.ROOT)))
            .ifPresent(
                word -> mistakes.add("%s = %s: set it to true or false".formatted(name, word)));
      }
      TYPES.forEach(
          (type, typed) ->
              text.filter(any -> typed.contains(name))
                  .flatMap(value -> Bounds.remedy(value, type))
                  .ifPresent(
                      what ->
                          mistakes.add("%s = %s: set it to %s".formatted(name, text.get(), what))));
      return text;
    } catch (ConfigurationException unresolved) {
      mistakes.add(
          "%s: %s: set it, or add a default, as in ${name:default}"
              .formatted(name, unresolved.getMessage()));
      return Optional.empty();
    }
  }
}
