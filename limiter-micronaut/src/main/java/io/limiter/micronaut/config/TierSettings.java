// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.micronaut.core.annotation.Internal;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The rules of tiers, as {@code limiter.tiers} has them.
 *
 * @param usual the tier of callers without another; empty if those have the rules of the policies
 * @param tiers the policies that differ in a tier, by its name and by theirs
 */
@Internal
public record TierSettings(
    Optional<String> usual, Map<String, Map<String, TierSettings.OfPolicy>> tiers) {

  /** Prefix of these settings. */
  public static final String PREFIX = LimiterConfiguration.PREFIX + ".tiers";

  private static final String DEFAULT = PREFIX + ".default";
  private static final String UNLIMITED = "unlimited";
  private static final int MAX_TIERS = 32;

  /**
   * A policy in a tier.
   *
   * @param setting one of its settings, for messages
   * @param rules the rules that replace those of the policy, by path; none if it keeps them
   * @param changes single settings of rules, by the rule's name and path
   * @param unlimited whether it has no rules at all
   */
  public record OfPolicy(
      WrittenSetting setting,
      List<Map<String, WrittenSetting>> rules,
      Map<String, Map<String, WrittenSetting>> changes,
      boolean unlimited) {}

  /** Whether a setting has the name of this tier. */
  public boolean isTier(String name) {
    return tiers.containsKey(name) || usual.filter(name::equals).isPresent();
  }

  /** The policy under a name in a tier, as far as it is read. */
  private static final class WrittenTier {

    final WrittenSetting first;
    final Map<Integer, Map<String, WrittenSetting>> rules = new TreeMap<>();
    final Map<String, Map<String, WrittenSetting>> changes = new TreeMap<>();
    boolean unlimited;

    WrittenTier(WrittenSetting first) {
      this.first = first;
    }
  }

  /** Collects settings, those of the lowest precedence first. */
  static final class TiersReader {

    private static final Pattern PATH =
        Pattern.compile(
            Pattern.quote(PREFIX)
                + "\\.(?<tier>[a-z][a-z0-9-]*)\\.(?:(?<policy>.+?)\\.rules(?:\\[(?<index>\\d{1,4})]\\.(?<listed>%s)|\\.(?<rule>.+)\\.(?<changed>%s))|(?<whole>.+))"
                    .replace("%s", PoliciesConfiguration.RULE_PATHS));

    private final Map<String, Map<String, WrittenTier>> tiers = new TreeMap<>();
    private Optional<String> usual = Optional.empty();
    private Set<Object> listed = Set.of();

    /** Begins to read a source that takes precedence over those before it. */
    void next() {
      listed = new HashSet<>();
    }

    void put(WrittenSetting setting) {
      if (setting.key().equals(DEFAULT)) {
        usual = Optional.of(name(setting));
        return;
      }
      Matcher path = PATH.matcher(setting.key());
      if (!path.matches()) {
        throw setting.mistake(
            "name a tier in small letters, digits and hyphens, and a policy: write %s.pro.<policy>.rules[0].count, for example"
                .formatted(PREFIX));
      }
      String tier = path.group("tier");
      if (path.group("whole") != null) {
        if (!setting.value().strip().equalsIgnoreCase(UNLIMITED)) {
          throw setting.mistake(
              "a tier has rules for a policy, or the word unlimited: write %s.%s.%s.rules[0].count, for example"
                  .formatted(PREFIX, tier, path.group("whole")));
        }
        written(tier, path.group("whole"), setting).unlimited = true;
        return;
      }
      WrittenTier policy = written(tier, path.group("policy"), setting);
      policy.unlimited = false;
      if (path.group("index") != null) {
        if (listed.add(policy)) {
          policy.rules.clear(); // those of a lower precedence
        }
        policy
            .rules
            .computeIfAbsent(Integer.valueOf(path.group("index")), any -> new TreeMap<>())
            .put(path.group("listed"), setting);
      } else {
        policy
            .changes
            .computeIfAbsent(path.group("rule"), any -> new TreeMap<>())
            .put(path.group("changed"), setting);
      }
    }

    private WrittenTier written(String tier, String policy, WrittenSetting setting) {
      Map<String, WrittenTier> policies = tiers.computeIfAbsent(tier, any -> new TreeMap<>());
      if (tiers.size() > MAX_TIERS) {
        throw setting.mistake("there may be %d tiers at most".formatted(MAX_TIERS));
      }
      return policies.computeIfAbsent(policy, any -> new WrittenTier(setting));
    }

    private static String name(WrittenSetting setting) {
      if (!setting.value().matches("[a-z][a-z0-9-]*")) {
        throw setting.mistake("name a tier in small letters, digits and hyphens, such as free");
      }
      return setting.value();
    }

    TierSettings read() {
      Map<String, Map<String, OfPolicy>> read = new TreeMap<>();
      tiers.forEach(
          (tier, policies) -> {
            Map<String, OfPolicy> own = new TreeMap<>();
            policies.forEach(
                (policy, written) ->
                    own.put(
                        policy,
                        new OfPolicy(
                            written.first,
                            List.copyOf(written.rules.values()),
                            written.changes,
                            written.unlimited)));
            read.put(tier, own);
          });
      return new TierSettings(usual, read);
    }
  }
}
