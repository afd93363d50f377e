// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.limiter.micronaut.config.PolicySettings;
import io.limiter.micronaut.config.WrittenSetting;
import io.micronaut.core.annotation.AnnotationValue;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;

/**
 * A {@code @RateLimiter} as configuration changes it: members are replaced one by one, rules all
 * together or one by one.
 *
 * @param policy the name by which it is configured
 * @param settings the settings of that policy
 */
record ConfiguredLimiter(String policy, PolicySettings settings) {

  private static final String DUPLICATE = "duplicate.";
  private static final String ENABLED = DUPLICATE + "enabled";
  private static final List<String> SUBJECT = List.of("limit-type", "header", "subject");
  private static final Set<String> SUBJECT_MEMBERS =
      Set.of("limitType", "header", "subject", "resolver");

  /**
   * The members of the annotation with the settings in their place.
   *
   * @param shorthand whether a {@code @PreventDuplicate} beside it has those of the duplicate guard
   */
  AnnotationMembers change(AnnotationMembers limiter, boolean shorthand) {
    Map<String, WrittenSetting> changes = new HashMap<>();
    settings
        .members()
        .forEach(
            (path, setting) -> {
              if (!path.startsWith(DUPLICATE)) {
                changes.put(path, setting);
              } else if (shorthand) {
                return;
              } else if (path.equals(DUPLICATE + "count") || path.equals(DUPLICATE + "time")) {
                changes.put(path.replace(DUPLICATE, "prevent-duplicate-rule."), setting);
              } else if (!path.equals(ENABLED)) {
                changes.put(path, setting);
              }
            });
    Set<String> replaced = new HashSet<>(replacedDetails("duplicate."));
    if (SUBJECT.stream().anyMatch(changes::containsKey)) {
      replaced.addAll(SUBJECT_MEMBERS);
    }
    if (!allowsGuard()) {
      changes.keySet().removeIf(path -> path.startsWith("duplicate") || path.startsWith("prevent"));
      replaced.addAll(Set.of("preventDuplicate", "preventDuplicateRule", "duplicate"));
    }
    guard()
        .filter(any -> !shorthand)
        .ifPresent(
            any ->
                changes.put(
                    "prevent-duplicate", new WrittenSetting(any.key(), "true", any.source())));
    return limiter.with(changes, replaced);
  }

  /** The members of a {@code @PreventDuplicate} with the settings in their place. */
  Optional<AnnotationMembers> changeGuard(Optional<AnnotationMembers> shorthand) {
    if (!allowsGuard()) {
      return Optional.empty();
    }
    Map<String, WrittenSetting> changes = new HashMap<>();
    settings
        .members()
        .forEach(
            (path, setting) -> {
              if (path.startsWith(DUPLICATE) && !path.equals(ENABLED)) {
                String detail = path.substring(DUPLICATE.length());
                changes.put(detail.equals("time") ? "within" : detail, setting);
              }
            });
    return shorthand.map(guard -> guard.with(changes, replacedDetails("")));
  }

  /** What is written of a duplicate guard and contradicts a setting. */
  private Set<String> replacedDetails(String prefix) {
    Set<String> replaced = new HashSet<>();
    Map<String, WrittenSetting> members = settings.members();
    if (members.containsKey(DUPLICATE + "by")) {
      replaced.add(prefix + "key");
    }
    if (members.containsKey(DUPLICATE + "release-on")) {
      replaced.add(prefix + "releaseOnFailure");
    }
    if (members.containsKey(DUPLICATE + "release-on-failure")) {
      replaced.add(prefix + "releaseOn");
    }
    return replaced;
  }

  /** Whether configuration does not switch the duplicate guard off. */
  boolean allowsGuard() {
    WrittenSetting enabled = settings.members().get(ENABLED);
    return enabled == null || AnnotationMembers.isOn(enabled);
  }

  /** A setting that asks for a duplicate guard; any detail of one does. */
  private Optional<WrittenSetting> guard() {
    return allowsGuard()
        ? settings.members().entrySet().stream()
            .filter(member -> member.getKey().startsWith(DUPLICATE))
            .map(Map.Entry::getValue)
            .findFirst()
        : Optional.empty();
  }

  /**
   * The rules of the annotation with the settings in their place.
   *
   * @param written the rules as written
   * @param nameOf the name of a rule by its members
   */
  List<AnnotationMembers> change(
      String method,
      List<AnnotationMembers> written,
      Function<AnnotationMembers, String> nameOf,
      Set<String> names) {
    List<AnnotationMembers> rules = written;
    if (!settings.rules().isEmpty()) {
      rules = new ArrayList<>();
      for (Map<String, WrittenSetting> rule : settings.rules()) {
        String key = rule.values().iterator().next().key();
        AnnotationValue<RateRule> empty = AnnotationValue.builder(RateRule.class).build();
        String name = key.substring(0, key.indexOf(']', PoliciesConfiguration.PREFIX.length()) + 1);
        rules.add(new AnnotationMembers(method, name, empty).with(rule, Set.of()));
      }
    }
    return changeEach(rules, nameOf, names);
  }

  /** The same for rules that no list replaces. */
  List<AnnotationMembers> changeEach(
      List<AnnotationMembers> written,
      Function<AnnotationMembers, String> nameOf,
      Set<String> names) {
    if (settings.changedRules().isEmpty()) {
      return written;
    }
    List<AnnotationMembers> changed = new ArrayList<>();
    for (AnnotationMembers rule : written) {
      String name = nameOf.apply(rule);
      for (int i = 2; !names.add(name); i++) {
        name = nameOf.apply(rule) + '-' + i;
      }
      changed.add(change(rule, settings.changes(name)));
    }
    return changed;
  }

  private static AnnotationMembers change(
      AnnotationMembers rule, Map<String, WrittenSetting> changes) {
    Set<String> replaced = new HashSet<>();
    if (SUBJECT.stream().anyMatch(changes::containsKey)) {
      replaced.addAll(SUBJECT_MEMBERS);
    }
    for (String member : AlgorithmReader.MEMBERS) {
      boolean set =
          changes.keySet().stream()
              .anyMatch(path -> AnnotationMembers.member(path).split("\\.")[0].equals(member));
      if (set) { // one algorithm replaces another; of the same one, the other parameters stay
        AlgorithmReader.MEMBERS.stream()
            .filter(other -> !other.equals(member))
            .forEach(replaced::add);
      }
    }
    return rule.with(changes, replaced);
  }
}
