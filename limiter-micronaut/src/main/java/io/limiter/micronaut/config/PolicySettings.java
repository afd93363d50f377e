// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.limiter.core.redis.RedisSettings;
import io.limiter.core.resilience.Fallback;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.convert.ConversionService;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * The settings of one policy, by the paths under its name. The settings that change what an
 * annotation says are read together with the annotation, and checked there; the others here.
 */
@Internal
public final class PolicySettings {

  /** Those that are read with the annotation: the members of {@code @RateLimiter}. */
  static final List<String> OF_LIMITER =
      List.of(
          "limit-type",
          "header",
          "subject",
          "anonymous",
          "cost",
          "condition",
          "failed-on",
          "status",
          "code",
          "message",
          "ban.violations",
          "ban.within",
          "ban.time",
          "ban.growth",
          "ban.longest",
          "duplicate.enabled",
          "duplicate.by",
          "duplicate.count",
          "duplicate.time",
          "duplicate.require-idempotency-key",
          "duplicate.release-on-failure",
          "duplicate.release-on",
          "duplicate.status",
          "duplicate.code",
          "duplicate.message");

  /** Those that are read here. */
  static final List<String> OF_POLICY =
      List.of("enabled", "observe", "fallback", "deadline", "deny-cache");

  /** Those of a rule: the members of {@code @RateRule}. */
  static final List<String> OF_RULE =
      List.of(
          "count",
          "time",
          "name",
          "algorithm",
          "counts",
          "limit-type",
          "header",
          "subject",
          "fixed-window.aligned",
          "fixed-window.zone",
          "fixed-window.anchor",
          "token-bucket.refill",
          "token-bucket.greedy",
          "token-bucket.initial",
          "leaky-bucket.queue",
          "leaky-bucket.max-wait",
          "leaky-bucket.fair");

  /** Of a policy without settings. */
  public static final PolicySettings NONE =
      new PolicySettings(Map.of(), List.of(), Map.of(), Optional.empty());

  private final Map<String, WrittenSetting> members;
  private final List<Map<String, WrittenSetting>> rules;
  private final Map<String, Map<String, WrittenSetting>> changes;
  private final boolean enabled;
  private final boolean observed;
  private final boolean denyCache;
  private final Optional<Fallback> fallback;
  private final Optional<Duration> deadline;
  private final boolean unlimited;

  /**
   * @param members the settings of the policy, by path
   * @param rules the rules that replace those of the annotation, by path; none if it keeps them
   * @param changes single settings of rules, by the rule's name and path
   * @param conversion reads times; empty if there are none
   * @throws io.micronaut.context.exceptions.ConfigurationException naming the setting that makes no
   *     sense
   */
  PolicySettings(
      Map<String, WrittenSetting> members,
      List<Map<String, WrittenSetting>> rules,
      Map<String, Map<String, WrittenSetting>> changes,
      Optional<ConversionService> conversion) {
    this.members = members;
    this.rules = rules;
    this.changes = changes;
    enabled = isOn("enabled", true);
    observed = isOn("observe", false);
    denyCache = isOn("deny-cache", true);
    fallback =
        Optional.ofNullable(members.get("fallback"))
            .map(it -> EnumSetting.of(Fallback.class, it.key(), it.value()));
    deadline =
        Optional.ofNullable(members.get("deadline"))
            .map(setting -> deadline(setting, conversion.orElseThrow()));
    unlimited = false;
  }

  /** The settings of a policy for callers of a tier. */
  private PolicySettings(PolicySettings usual, TierSettings.OfPolicy tier) {
    members = usual.members;
    rules = tier.rules().isEmpty() ? usual.rules : tier.rules();
    Map<String, Map<String, WrittenSetting>> merged = new TreeMap<>();
    if (tier.rules().isEmpty()) { // else there are other rules
      usual.changes.forEach((rule, settings) -> merged.put(rule, new TreeMap<>(settings)));
    }
    tier.changes()
        .forEach(
            (rule, settings) ->
                merged.computeIfAbsent(rule, any -> new TreeMap<>()).putAll(settings));
    changes = merged;
    enabled = usual.enabled;
    observed = usual.observed;
    denyCache = usual.denyCache;
    fallback = usual.fallback;
    deadline = usual.deadline;
    unlimited = tier.unlimited();
  }

  /** Returns the settings for callers of a tier, which has other rules. */
  public PolicySettings in(TierSettings.OfPolicy tier) {
    return new PolicySettings(this, tier);
  }

  /** Whether the rules are not applied, only the duplicate guard. */
  public boolean unlimited() {
    return unlimited;
  }

  private boolean isOn(String path, boolean otherwise) {
    WrittenSetting setting = members.get(path);
    return setting == null ? otherwise : EnumSetting.isOn(setting.key(), setting.value());
  }

  private static Duration deadline(WrittenSetting setting, ConversionService conversion) {
    return conversion
        .convert(setting.value(), Duration.class)
        .filter(time -> time.compareTo(RedisSettings.MIN_DEADLINE) >= 0)
        .filter(time -> time.compareTo(RedisSettings.MAX_DEADLINE) <= 0)
        .orElseThrow(() -> setting.mistake("give it 1 ms to 10 s, such as 100ms"));
  }

  /** Whether the policy limits anything. */
  public boolean enabled() {
    return enabled;
  }

  /** Whether the duplicate guard is switched on by name. */
  public boolean guardsDuplicates() {
    return isOn("duplicate.enabled", false);
  }

  /** Whether the policy is only observed: it never denies. */
  public boolean observed() {
    return observed;
  }

  /** Whether denials of this policy may be answered without a call to Redis. */
  public boolean denyCache() {
    return denyCache;
  }

  /** Who decides while Redis does not answer, if the policy has a setting of its own. */
  public Optional<Fallback> fallback() {
    return fallback;
  }

  /** How long a decision waits for Redis, if the policy has a setting of its own. */
  public Optional<Duration> deadline() {
    return deadline;
  }

  /** The settings of the policy itself, by path, such as {@code ban.time}. */
  public Map<String, WrittenSetting> members() {
    return members;
  }

  /** The rules that replace those of the annotation, by path; none if it keeps them. */
  public List<Map<String, WrittenSetting>> rules() {
    return rules;
  }

  /**
   * The settings of one rule, by path.
   *
   * @param rule the name that the rule has without them
   */
  public Map<String, WrittenSetting> changes(String rule) {
    Map<String, WrittenSetting> own = changes.get(rule);
    return own != null ? own : changes.getOrDefault(UnknownSettings.variable(rule), Map.of());
  }

  /** The names of the rules with settings, as they are written; each with one of the settings. */
  public Map<String, WrittenSetting> changedRules() {
    Map<String, WrittenSetting> names = new TreeMap<>();
    changes.forEach((rule, settings) -> names.put(rule, settings.values().iterator().next()));
    return names;
  }

  /** Whether a rule of this name has the settings that are written for this one. */
  public static boolean isSameRule(String written, String rule) {
    return written.equals(rule) || written.equals(UnknownSettings.variable(rule));
  }

  /** All settings, sorted by key. */
  public List<WrittenSetting> all() {
    List<WrittenSetting> all = new ArrayList<>(members.values());
    Stream.concat(rules.stream(), changes.values().stream())
        .forEach(rule -> all.addAll(rule.values()));
    all.sort((one, other) -> one.key().compareTo(other.key()));
    return Collections.unmodifiableList(all);
  }
}
