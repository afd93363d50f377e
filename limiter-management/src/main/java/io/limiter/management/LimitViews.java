// SPDX-License-Identifier: Apache-2.0
package io.limiter.management;

import io.limiter.core.RuleVerdict;
import io.limiter.core.Usage;
import io.limiter.core.Verdict;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.micronaut.config.SettingsRefresh.SettingsShare;
import io.limiter.micronaut.definition.Origin;
import io.limiter.micronaut.plan.LimitedPolicy;
import io.micronaut.core.naming.NameUtils;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The responses of the endpoint, as maps, which every JSON mapper writes. Times are ISO 8601
 * durations; those of usage and of shared settings are instants.
 */
final class LimitViews {

  private LimitViews() {}

  /** What a policy limits, and which of its numbers do not come from its annotation. */
  static Map<String, Object> policy(LimitedPolicy policy, boolean observed) {
    Map<String, Object> view = new LinkedHashMap<>();
    view.put("policy", policy.name());
    view.put("observed", observed);
    view.put("methods", policy.methods());
    view.put("limits", limits(policy));
    if (!policy.tiers().isEmpty()) {
      policy.tier().ifPresent(usual -> view.put("tier", usual));
      Map<String, Object> tiers = new LinkedHashMap<>();
      policy.tiers().forEach(tier -> tiers.put(tier, limits(policy.inTier(tier))));
      view.put("tiers", tiers);
    }
    view.put("configured", policy.configured().stream().map(LimitViews::setting).toList());
    return view;
  }

  private static List<Map<String, Object>> limits(LimitedPolicy policy) {
    Map<String, String> names = policy.codeNames();
    return policy.limits().stream().map(limit -> limit(limit, names)).toList();
  }

  private static Map<String, Object> limit(
      LimitedPolicy.SubjectLimit limit, Map<String, String> codeNames) {
    Map<String, Object> view = new LinkedHashMap<>();
    view.put("key", limit.key());
    view.put("countedBy", limit.subject());
    view.put("rules", rules(limit.rules(), codeNames));
    if (!limit.anonymousRules().isEmpty() && !limit.anonymousRules().equals(limit.rules())) {
      view.put("anonymousRules", rules(limit.anonymousRules(), codeNames));
    }
    if (limit.warnAt() > 0) {
      view.put("warnAt", limit.warnAt());
    }
    return view;
  }

  private static List<Map<String, Object>> rules(List<Rule> rules, Map<String, String> codeNames) {
    return rules.stream()
        .map(
            rule -> {
              Map<String, Object> view = new LinkedHashMap<>();
              view.put("rule", rule.name());
              if (codeNames.containsKey(rule.name())) {
                view.put("inCode", codeNames.get(rule.name()));
              }
              view.put("algorithm", algorithm(rule));
              view.put("count", rule.count());
              view.put("time", rule.window().toString());
              return view;
            })
        .toList();
  }

  /** What rules on trial would have denied on this instance. */
  static Map<String, Object> trial(
      List<RuleStack> rules, Instant since, long admitted, long wouldDeny) {
    Map<String, Object> view = new LinkedHashMap<>();
    view.put(
        "rules", rules.stream().flatMap(stack -> stack.rules().stream()).map(Rule::name).toList());
    view.put("since", since.toString());
    view.put("admitted", admitted);
    view.put("wouldDeny", wouldDeny);
    return view;
  }

  private static String algorithm(Rule rule) {
    String type = rule.getClass().getSimpleName();
    return NameUtils.environmentName(
        type.endsWith("Rule") ? type.substring(0, type.length() - 4) : type);
  }

  private static Map<String, Object> setting(Origin setting) {
    Map<String, Object> view = new LinkedHashMap<>();
    view.put("key", setting.key());
    view.put("value", setting.value());
    view.put("source", setting.source());
    return view;
  }

  /** The settings that all instances share, as this one knows them. */
  static Map<String, Object> shared(SettingsShare.ShareState status) {
    Map<String, Object> view = new LinkedHashMap<>();
    view.put("version", status.version().orElse(0));
    view.put("source", status.version().isPresent() ? "Redis" : "files");
    status.lastRead().ifPresent(time -> view.put("lastRead", time.toString()));
    status.problem().ifPresent(problem -> view.put("problem", problem));
    return view;
  }

  /** The override of a subject. */
  static Map<String, Object> override(SubjectOverride override, String digest) {
    Map<String, Object> view = new LinkedHashMap<>();
    view.put("policy", override.policy());
    view.put("subject", digest);
    if (override.unlimited()) {
      view.put("unlimited", true);
    } else {
      view.put("counts", new TreeMap<>(override.counts()));
    }
    view.put("left", override.left().truncatedTo(ChronoUnit.MILLIS).toString());
    return view;
  }

  /** The override of a subject in words, for an audit. */
  static String words(Optional<SubjectOverride> override) {
    return override
        .map(
            it ->
                (it.unlimited() ? "unlimited" : new TreeMap<>(it.counts()).toString())
                    + " for "
                    + it.left().truncatedTo(ChronoUnit.SECONDS))
        .orElse("the usual limits");
  }

  /** What a caller is listed for, and its name. */
  static Map<String, Object> caller(ListedCaller caller) {
    Map<String, Object> view = new LinkedHashMap<>();
    view.put("kind", caller.kind().word());
    view.put(caller.type(), caller.name());
    return view;
  }

  /** The time for which a caller is listed, the reason, and who has listed it. */
  static Map<String, Object> entry(ListedCaller caller) {
    Map<String, Object> view = new LinkedHashMap<>();
    view.put("since", caller.since().toString());
    view.put("until", caller.until().toString());
    if (!caller.reason().isEmpty()) {
      view.put("reason", caller.reason());
    }
    view.put("by", caller.by());
    return view;
  }

  /** The entry of a caller in words, for an audit. */
  static String listing(Optional<ListedCaller> entry) {
    return entry
        .map(it -> "until " + it.until() + (it.reason().isEmpty() ? "" : ": " + it.reason()))
        .orElse("not listed");
  }

  /** Whether a call would pass, and the state of each rule. */
  static Map<String, Object> verdict(Verdict verdict) {
    Map<String, Object> view = new LinkedHashMap<>();
    view.put("passes", verdict.allowed());
    view.put("outcome", word(verdict.outcome()));
    verdict.retryAfter().ifPresent(time -> view.put("retryAfter", time.toString()));
    verdict.ban().ifPresent(time -> view.put("ban", time.toString()));
    view.put("decidedBy", word(verdict.decidedBy()));
    verdict.reason().ifPresent(reason -> view.put("reason", word(reason)));
    view.put("rules", verdict.rules().stream().map(LimitViews::rule).toList());
    verdict.duplicate().ifPresent(guard -> view.put("duplicateGuard", rule(guard)));
    return view;
  }

  /** What is used of each rule, and in which period. */
  static Map<String, Object> usage(Verdict verdict) {
    Map<String, Object> view = new LinkedHashMap<>();
    view.put("decidedBy", word(verdict.decidedBy()));
    verdict.reason().ifPresent(reason -> view.put("reason", word(reason)));
    view.put("rules", verdict.usage().stream().map(LimitViews::usage).toList());
    return view;
  }

  private static Map<String, Object> usage(Usage usage) {
    Map<String, Object> view = new LinkedHashMap<>();
    view.put("rule", usage.rule().name());
    view.put("used", usage.used());
    view.put("left", usage.left());
    usage.begin().ifPresent(time -> view.put("begin", time.toString()));
    usage.end().ifPresent(time -> view.put("end", time.toString()));
    return view;
  }

  private static Map<String, Object> rule(RuleVerdict rule) {
    Map<String, Object> view = new LinkedHashMap<>();
    view.put("rule", rule.rule().name());
    view.put("passes", !rule.denies());
    if (rule.observed()) {
      view.put("wouldDeny", rule.violated());
    }
    view.put("remaining", rule.remaining());
    view.put("of", rule.rule().capacity());
    rule.retryAfter().ifPresent(time -> view.put("retryAfter", time.toString()));
    view.put("resetAfter", rule.resetAfter().toString());
    return view;
  }

  /** A verdict in words, for an audit: {@code banned for PT14M, 3-per-60s 0/3}. */
  static String words(Verdict verdict) {
    String outcome =
        word(verdict.outcome())
            + verdict.ban().map(Duration::toString).map(" for "::concat).orElse("");
    return verdict.rules().stream()
        .map(
            rule ->
                ", %s %s/%s"
                    .formatted(rule.rule().name(), rule.remaining(), rule.rule().capacity()))
        .collect(Collectors.joining("", outcome, ""));
  }

  private static String word(Enum<?> word) {
    return word.name().toLowerCase(Locale.ROOT);
  }
}
