// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.limiter.core.util.NearestNames;
import io.limiter.micronaut.config.LimitSettings.Route;
import io.limiter.micronaut.definition.MemberSet;
import io.limiter.micronaut.definition.Origin;
import io.limiter.micronaut.definition.PolicyDefinition;
import io.limiter.micronaut.definition.PolicyMember;
import io.limiter.micronaut.definition.PolicyMember.Written;
import io.micronaut.context.env.PropertyPlaceholderResolver;
import io.micronaut.context.env.PropertySource;
import io.micronaut.context.env.PropertySource.PropertyConvention;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.convert.ConversionService;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Reads the settings of one source: the policies, tiers and routes under {@code limiter}. Keys are
 * split by the known members of policies and rules, and names of policies, rules and tiers stay as
 * they are written. Micronaut converts the values.
 */
final class SettingsReader {

  private static final String POLICIES = PoliciesConfiguration.PREFIX + '.';
  private static final String RULES = "rules";
  private static final String UNLIMITED = "unlimited";
  private static final String TIER_NAME = "[a-z][a-z0-9-]*";
  private static final Pattern INDEX = Pattern.compile("(.*)\\[(\\d{1,4})]");
  private static final Pattern PLACE = Pattern.compile("\\[(\\d+)]\\.?");
  private static final Pattern ITEM = Pattern.compile("\\[(\\d{1,4})]\\.(.+)");
  private static final Pattern TIER =
      Pattern.compile(Pattern.quote(LimitSettings.TIERS) + "\\.(" + TIER_NAME + ")\\.(.+)");
  private static final Pattern ROUTE =
      Pattern.compile(
          Pattern.quote(LimitSettings.ROUTES)
              + "\\[(\\d{1,4})]\\.("
              + String.join("|", Route.MEMBERS)
              + ")(\\[\\d+])?");

  /**
   * What one source has.
   *
   * @param policies by name
   * @param tiers by the names of tiers and policies
   * @param routes in their order; none if the source has no list of them
   * @param usualTier the tier of callers without another
   */
  record WrittenLayer(
      Map<String, PolicyDefinition> policies,
      Map<String, Map<String, PolicyDefinition>> tiers,
      List<Map<String, Origin>> routes,
      Optional<Origin> usualTier)
      implements LimitSettings.Layer {

    @Override
    public PolicyDefinition change(
        Optional<String> tier, PolicyDefinition known, Supplier<Collection<String>> ruleNames) {
      PolicyDefinition own =
          tier.map(name -> tiers.getOrDefault(name, Map.of())).orElse(policies).get(known.name());
      return own == null ? known : known.with(own);
    }

    @Override
    public List<Map<String, Origin>> change(List<Map<String, Origin>> known) {
      return routes.isEmpty() ? known : routes;
    }

    @Override
    public Optional<Origin> change(Optional<Origin> known) {
      return usualTier.or(() -> known);
    }
  }

  /** Converts values, with placeholders that the sources resolve now. */
  record SettingConverter(PropertyPlaceholderResolver placeholders, ConversionService conversion) {

    <T> Written<T> read(PolicyMember<T> member, Object raw, String key, String source) {
      Object resolved = resolved(key, raw);
      return member.read(resolved, new Origin(key, shown(resolved), source), conversion);
    }

    Object resolved(String key, @Nullable Object value) {
      if (value instanceof Collection<?> items) {
        return items.stream().map(item -> resolved(key, item)).toList();
      }
      if (!(value instanceof CharSequence)) {
        return value == null ? "" : value;
      }
      try {
        return placeholders.resolveRequiredPlaceholders(value.toString());
      } catch (ConfigurationException unresolved) {
        throw new ConfigurationException(
            "%s = %s: %s: set it, or give it a default, as in ${name:default}"
                .formatted(key, value, unresolved.getMessage()),
            unresolved);
      }
    }

    private static String shown(Object value) {
      return value instanceof Collection<?> items
          ? String.join(",", items.stream().map(String::valueOf).toList())
          : value.toString();
    }
  }

  private final SettingConverter values;
  private final String origin;
  private final Map<String, PolicyDefinition> policies = new TreeMap<>();
  private final Map<String, Map<String, PolicyDefinition>> tiers = new TreeMap<>();
  private final Map<ListOfRules, Map<Integer, MemberSet>> listed = new HashMap<>();
  private final Map<String, Map<Integer, Object>> items = new TreeMap<>(); // of other lists
  private final Map<Integer, Map<String, Origin>> routes = new TreeMap<>();
  private Optional<Origin> usualTier = Optional.empty();

  /** The tier is empty outside of all of them. */
  private record ListOfRules(String tier, String policy) {}

  private SettingsReader(SettingConverter values, String origin) {
    this.values = values;
    this.origin = origin;
  }

  /** Reads a source of properties. */
  static WrittenLayer read(PropertySource source, SettingConverter values) {
    SettingsReader reader = new SettingsReader(values, source.getOrigin().location());
    for (String key : source) {
      if (LimitSettings.isFree(key)) {
        reader.put(key, source.get(key));
      }
    }
    return reader.read();
  }

  /** Reads settings of policies by their names under {@code limiter.policies}. */
  static WrittenLayer read(Map<String, String> settings, String origin, SettingConverter values) {
    SettingsReader reader = new SettingsReader(values, origin);
    settings.forEach((name, value) -> reader.put(POLICIES + name, value));
    return reader.read();
  }

  static boolean isVariables(PropertySource source) {
    return source.getConvention() == PropertyConvention.ENVIRONMENT_VARIABLE;
  }

  private WrittenLayer read() {
    items.forEach((key, all) -> put(key, List.copyOf(all.values())));
    addRules("", policies);
    tiers.forEach(this::addRules);
    return new WrittenLayer(policies, tiers, List.copyOf(routes.values()), usualTier);
  }

  private void addRules(String tier, Map<String, PolicyDefinition> of) {
    of.replaceAll(
        (policy, known) -> {
          Map<Integer, MemberSet> rules = listed.get(new ListOfRules(tier, policy));
          return rules == null ? known : known.withListedRules(List.copyOf(rules.values()));
        });
  }

  /** A file has a property for each leaf; a map from code may contain maps and lists. */
  private void put(String key, @Nullable Object value) {
    if (value instanceof Map<?, ?> inner) {
      inner.forEach((name, deeper) -> put(key + '.' + name, deeper));
    } else if (value instanceof List<?> list
        && !list.isEmpty()
        && list.stream().allMatch(Map.class::isInstance)) {
      for (int i = 0; i < list.size(); i++) {
        put(key + '[' + i + ']', list.get(i));
      }
    } else if (LimitSettings.isUnder(LimitSettings.ROUTES, key)) {
      putRoute(key, value);
    } else if (LimitSettings.isUnder(LimitSettings.TIERS, key)) {
      putTier(key, value);
    } else if (key.startsWith(POLICIES)) {
      putPolicy("", policies, POLICIES, key, value);
    } else {
      throw unknown(origin(key, value));
    }
  }

  private Origin origin(String key, @Nullable Object value) {
    return new Origin(key, SettingConverter.shown(values.resolved(key, value)), origin);
  }

  private void putRoute(String key, @Nullable Object value) {
    Matcher path = ROUTE.matcher(key);
    if (!path.matches()) {
      throw origin(key, value)
          .mistake(
              "a route has path, methods and policy: write a list, such as %s[0].path"
                  .formatted(LimitSettings.ROUTES));
    }
    routes
        .computeIfAbsent(Integer.valueOf(path.group(1)), any -> new TreeMap<>())
        .merge(
            path.group(2),
            origin(key, value),
            (one, other) ->
                path.group(3) == null
                    ? other
                    : new Origin(one.key(), one.value() + ',' + other.value(), origin));
  }

  private void putTier(String key, @Nullable Object value) {
    Matcher tier = TIER.matcher(key);
    if (key.equals(LimitSettings.TIERS + ".default")) {
      Origin usual = origin(key, value);
      if (!usual.value().matches(TIER_NAME)) {
        throw usual.mistake("name a tier in small letters, digits and hyphens, such as free");
      }
      usualTier = Optional.of(usual);
      return;
    }
    if (!tier.matches()) {
      throw origin(key, value)
          .mistake(
              "name a tier in small letters, digits and hyphens, and a policy: write %s.pro.<policy>.rules[0].count, for example"
                  .formatted(LimitSettings.TIERS));
    }
    Map<String, PolicyDefinition> of = tiers.computeIfAbsent(tier.group(1), any -> new TreeMap<>());
    if (tiers.size() > LimitSettings.MAX_TIERS) {
      throw origin(key, value)
          .mistake("there may be %d tiers at most".formatted(LimitSettings.MAX_TIERS));
    }
    String prefix = LimitSettings.TIERS + '.' + tier.group(1) + '.';
    if (key.substring(prefix.length()).contains("." + RULES)) {
      putPolicy(tier.group(1), of, prefix, key, value);
      return;
    }
    requireUnlimited(origin(key, value), key);
    definition(of, prefix, tier.group(2));
    of.computeIfPresent(tier.group(2), (name, known) -> known.withoutLimits());
  }

  /** Splits a key at the first place where a member of a policy follows. */
  private void putPolicy(
      String tier,
      Map<String, PolicyDefinition> of,
      String prefix,
      String key,
      @Nullable Object value) {
    String rest = key.substring(prefix.length());
    for (int dot = rest.indexOf('.'); dot > 0; dot = rest.indexOf('.', dot + 1)) {
      String policy = rest.substring(0, dot);
      String path = rest.substring(dot + 1);
      PolicyMember<?> member = PolicyMember.ofPolicy().get(path);
      if (member != null && tier.isEmpty()) {
        PolicyDefinition known = definition(of, prefix, policy);
        of.put(policy, known.withMembers(with(known.members(), member, key, value)));
        return;
      }
      if (isItem(PolicyMember.ofPolicy(), path) && tier.isEmpty()) {
        putItem(key, value);
        return;
      }
      if (path.startsWith(RULES + '[') || path.startsWith(RULES + '.')) {
        putRule(tier, of, prefix, policy, path.substring(RULES.length()), key, value);
        return;
      }
    }
    throw unknown(origin(key, value));
  }

  private void putRule(
      String tier,
      Map<String, PolicyDefinition> of,
      String prefix,
      String policy,
      String path,
      String key,
      @Nullable Object value) {
    Matcher item = ITEM.matcher(path);
    if (item.matches()) {
      PolicyMember<?> member = PolicyMember.ofRule().get(item.group(2));
      if (member == null) {
        throw unknown(origin(key, value));
      }
      definition(of, prefix, policy);
      String place = prefix + policy + '.' + RULES + '[' + item.group(1) + ']';
      listed
          .computeIfAbsent(new ListOfRules(tier, policy), any -> new TreeMap<>())
          .compute(
              Integer.valueOf(item.group(1)),
              (index, rule) -> with(rule == null ? MemberSet.of(place) : rule, member, key, value));
      return;
    }
    for (int dot = path.lastIndexOf('.'); dot > 0; dot = path.lastIndexOf('.', dot - 1)) {
      PolicyMember<?> member = PolicyMember.ofRule().get(path.substring(dot + 1));
      // Of two members with one ending, the longer one: token-bucket.refill.
      int longer = path.lastIndexOf('.', dot - 1);
      if (longer > 0 && PolicyMember.ofRule().containsKey(path.substring(longer + 1))) {
        continue;
      }
      if (member != null) {
        String rule = path.substring(1, dot);
        PolicyDefinition known = definition(of, prefix, policy);
        MemberSet some = MemberSet.of(prefix + policy + '.' + RULES + '.' + rule);
        of.put(policy, known.withChange(rule, with(some, member, key, value)));
        return;
      }
    }
    throw unknown(origin(key, value));
  }

  /** A list that has a property for each item, as in a .properties file. */
  private static boolean isItem(Map<String, PolicyMember<?>> members, String path) {
    Matcher index = INDEX.matcher(path);
    PolicyMember<?> member =
        path.endsWith("]") && index.matches() ? members.get(index.group(1)) : null;
    return member != null && member.isList();
  }

  private void putItem(String key, @Nullable Object value) {
    Matcher index = INDEX.matcher(key);
    if (index.matches()) {
      items
          .computeIfAbsent(index.group(1), any -> new TreeMap<>())
          .put(Integer.valueOf(index.group(2)), value == null ? "" : value);
    }
  }

  private static PolicyDefinition definition(
      Map<String, PolicyDefinition> of, String prefix, String policy) {
    return of.computeIfAbsent(policy, name -> PolicyDefinition.of(name, prefix + name));
  }

  private <T> MemberSet with(
      MemberSet members, PolicyMember<T> member, String key, @Nullable Object value) {
    return members.with(member, values.read(member, value == null ? "" : value, key, origin));
  }

  /** The nearest of the settings that the name may mean, else an example. */
  private static ConfigurationException unknown(Origin setting) {
    String key = setting.key();
    boolean ofRule = key.contains('.' + RULES);
    List<String> paths =
        List.copyOf((ofRule ? PolicyMember.ofRule() : PolicyMember.ofPolicy()).keySet());
    String last = key.substring(key.lastIndexOf('.') + 1);
    String lastTwo = key.substring(key.lastIndexOf('.', key.lastIndexOf('.') - 1) + 1);
    if (key.endsWith('.' + RULES) || (ofRule && paths.contains(last))) {
      return setting.mistake(
          "write a list of rules, or settings by the names of rules: rules: [{count: 5, time: 60s}], or rules: {5-per-60s: {count: 8}}");
    }
    List<String> nearest =
        Stream.of(last, lastTwo)
            .flatMap(
                name ->
                    NearestNames.of(paths, name).stream()
                        .filter(path -> 2 * NearestNames.changes(path, name) <= name.length())
                        .filter(path -> !path.equals(name)))
            .distinct()
            .limit(3)
            .toList();
    String what = ofRule ? "rule" : "policy";
    return setting.mistake(
        nearest.isEmpty()
            ? "there is no such setting of a %s. They are %s; write %s, for example"
                .formatted(
                    what,
                    String.join(", ", paths),
                    PoliciesConfiguration.PREFIX
                        + (ofRule ? ".<name>.rules[0].count" : ".<name>.fallback"))
            : "there is no such setting of a %s; did you mean %s?"
                .formatted(what, String.join(" or ", nearest)));
  }

  /** The name of the environment variable that sets this; a place in a list is {@code _0_}. */
  static String variable(String name) {
    String plain = PLACE.matcher(name).replaceAll(".$1.");
    return UnknownSettings.variable(
        plain.endsWith(".") ? plain.substring(0, plain.length() - 1) : plain);
  }

  /**
   * What environment variables set. A variable is never taken apart: the names of those of all
   * known members are looked up.
   */
  static final class VariableLayer implements LimitSettings.Layer {

    /** Micronaut makes [3] of _3_. */
    private static final Pattern INDEXED = Pattern.compile("\\[(\\d+)]");

    private static final List<String> OURS =
        LimitSettings.FREE.stream().map(prefix -> variable(prefix) + '_').toList();

    private final Map<String, Origin> byName = new TreeMap<>();
    private final Map<String, String> used = new ConcurrentHashMap<>();
    private final SettingConverter values;

    VariableLayer(PropertySource source, SettingConverter values) {
      this.values = values;
      for (String name : source) {
        String plain = INDEXED.matcher(name).replaceAll("_$1_");
        if (OURS.stream().anyMatch(plain::startsWith)) {
          String key = plain.endsWith("_") ? plain.substring(0, plain.length() - 1) : plain;
          String value = String.valueOf(source.get(name));
          byName.put(key, new Origin(key, value, source.getOrigin().location()));
        }
      }
    }

    @Override
    public PolicyDefinition change(
        Optional<String> tier, PolicyDefinition known, Supplier<Collection<String>> ruleNames) {
      String prefix =
          tier.map(name -> LimitSettings.TIERS + '.' + name + '.').orElse(POLICIES) + known.name();
      if (!mayChange(prefix)) {
        return known;
      }
      Optional<Origin> whole = tier.isEmpty() ? Optional.empty() : find(prefix);
      if (whole.isPresent()) {
        requireUnlimited(whole.get(), prefix);
        return known.withoutLimits();
      }
      PolicyDefinition changed =
          tier.isPresent()
              ? known
              : known.withMembers(
                  known.members().with(members(prefix + '.', PolicyMember.ofPolicy().values())));
      List<MemberSet> rules = new ArrayList<>(known.rules().orElse(List.of()));
      for (int i = 0; i < rules.size(); i++) {
        String rule = "%s.%s[%d].".formatted(prefix, RULES, i);
        rules.set(i, rules.get(i).with(members(rule, PolicyMember.ofRule().values())));
      }
      changed = known.rules().isPresent() ? changed.withListedRules(rules) : changed;
      for (String name : ruleNames.get()) {
        MemberSet some =
            members("%s.%s.%s.".formatted(prefix, RULES, name), PolicyMember.ofRule().values());
        changed = some.isEmpty() ? changed : changed.withChange(name, some);
      }
      return changed;
    }

    @Override
    public List<Map<String, Origin>> change(List<Map<String, Origin>> known) {
      List<Map<String, Origin>> changed = new ArrayList<>();
      for (int i = 0; i < known.size(); i++) {
        Map<String, Origin> route = new TreeMap<>(known.get(i));
        for (String member : Route.MEMBERS) {
          find("%s[%d].%s".formatted(LimitSettings.ROUTES, i, member))
              .ifPresent(value -> route.put(member, value));
        }
        changed.add(route);
      }
      return changed;
    }

    @Override
    public Optional<Origin> change(Optional<Origin> known) {
      return find(LimitSettings.TIERS + ".default").or(() -> known);
    }

    /** Whether a variable begins like those of a prefix. */
    boolean mayChange(String prefix) {
      if (byName.isEmpty()) {
        return false;
      }
      String first = variable(prefix);
      return byName.keySet().stream().anyMatch(name -> name.startsWith(first));
    }

    private MemberSet members(String prefix, Collection<PolicyMember<?>> some) {
      MemberSet members = MemberSet.of(prefix.substring(0, prefix.length() - 1));
      for (PolicyMember<?> member : some) {
        members = with(members, member, prefix);
      }
      return members;
    }

    private <T> MemberSet with(MemberSet members, PolicyMember<T> member, String prefix) {
      return find(prefix + member.path())
          .map(
              value ->
                  members.with(
                      member, values.read(member, value.value(), value.key(), value.source())))
          .orElse(members);
    }

    /**
     * The variable of a setting.
     *
     * @throws ConfigurationException if the variable is that of another setting, too
     */
    private Optional<Origin> find(String key) {
      Origin value = byName.get(variable(key));
      if (value == null) {
        return Optional.empty();
      }
      String other = used.putIfAbsent(value.key(), key);
      if (other != null && !other.equals(key)) {
        throw value.mistake(
            "this variable stands for two settings, %s and %s: write the value into a file, where a placeholder may read a variable of another name"
                .formatted(other, key));
      }
      return Optional.of(value);
    }

    /** Those that were looked up for no setting. */
    List<String> unused() {
      return byName.keySet().stream().filter(name -> !used.containsKey(name)).toList();
    }
  }

  private static void requireUnlimited(Origin whole, String prefix) {
    if (!whole.value().strip().equalsIgnoreCase(UNLIMITED)) {
      throw whole.mistake(
          "a tier has rules for a policy, or the word unlimited: write %s.rules[0].count, for example"
              .formatted(prefix));
    }
  }
}
