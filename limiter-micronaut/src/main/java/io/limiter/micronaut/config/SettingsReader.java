// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.limiter.core.util.NearestNames;
import io.limiter.micronaut.definition.MemberSet;
import io.limiter.micronaut.definition.Origin;
import io.limiter.micronaut.definition.PolicyDefinition;
import io.limiter.micronaut.definition.PolicyDefinition.RuleList;
import io.limiter.micronaut.definition.PolicyMember;
import io.micronaut.context.env.PropertyPlaceholderResolver;
import io.micronaut.context.env.PropertySource;
import io.micronaut.context.env.PropertySource.PropertyConvention;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.convert.ConversionService;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
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
  private static final String UNLIMITED = "unlimited";
  private static final String TIER_NAME = "[a-z][a-z0-9-]*";
  private static final Pattern PLACE = Pattern.compile("\\[(\\d+)]\\.?");

  /** An item of a list: of rules, or of numbers that have a property each. */
  private static final Pattern ITEM = Pattern.compile("(.*)\\[(\\d{1,4})]");

  private static final Pattern TIER =
      Pattern.compile(Pattern.quote(LimitKeys.TIERS) + "\\.(" + TIER_NAME + ")\\.(.+)");
  private static final Pattern ROUTE =
      Pattern.compile(
          Pattern.quote(LimitKeys.ROUTES)
              + "\\[(\\d{1,4})]\\.("
              + String.join("|", LimitKeys.ROUTE_MEMBERS)
              + ")(\\[\\d+])?");

  /** One source of settings. */
  sealed interface Layer {

    /**
     * Changes a policy.
     *
     * @param tier empty for all callers
     * @param known the definition by the layers before it
     * @param ruleNames the names of the rules of a policy by its settings so far, which single
     *     changes may use
     */
    PolicyDefinition change(
        Optional<String> tier,
        PolicyDefinition known,
        Function<PolicyDefinition, Set<String>> ruleNames);

    /** Changes the limits on paths. */
    List<Map<String, Origin>> change(List<Map<String, Origin>> known);

    /** Changes the tier of callers without another. */
    Optional<Origin> change(Optional<Origin> known);

    /** Whether it may change a policy in a tier. */
    boolean mayChange(String tier, String policy);
  }

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
      implements Layer {

    @Override
    public PolicyDefinition change(
        Optional<String> tier,
        PolicyDefinition known,
        Function<PolicyDefinition, Set<String>> ruleNames) {
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

    @Override
    public boolean mayChange(String tier, String policy) {
      return tiers.getOrDefault(tier, Map.of()).containsKey(policy);
    }
  }

  /** Converts values, with placeholders that the sources resolve now. */
  record SettingConverter(PropertyPlaceholderResolver placeholders, ConversionService conversion) {

    /** Returns these members with one that a source has. */
    <T> MemberSet with(
        MemberSet members, PolicyMember<T> member, Object raw, String key, String source) {
      Object resolved = resolved(key, raw);
      Origin origin = new Origin(key, shown(resolved), source);
      return members.with(member, member.read(resolved, origin, conversion));
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
            "%s = %s: %s: set it, or add a default, as in ${name:default}"
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
  private final Map<String, Draft> policies = new HashMap<>();
  private final Map<String, Map<String, Draft>> tiers = new HashMap<>();
  private final Map<String, Map<Integer, Object>> items = new TreeMap<>(); // of other lists
  private final Map<Integer, Map<String, Origin>> routes = new TreeMap<>();
  private Optional<Origin> usualTier = Optional.empty();

  /** A policy that is still being read, with the rules of its list by index. */
  private static final class Draft {

    private final Map<RuleList, Map<Integer, MemberSet>> lists = new EnumMap<>(RuleList.class);

    private PolicyDefinition others;

    Draft(PolicyDefinition others) {
      this.others = others;
    }

    PolicyDefinition read() {
      PolicyDefinition read = others;
      for (Map.Entry<RuleList, Map<Integer, MemberSet>> list : lists.entrySet()) {
        read = read.withList(list.getKey(), List.copyOf(list.getValue().values()));
      }
      return read;
    }
  }

  private SettingsReader(SettingConverter values, String origin) {
    this.values = values;
    this.origin = origin;
  }

  /** Reads a source of properties. */
  static WrittenLayer read(PropertySource source, SettingConverter values) {
    SettingsReader reader = new SettingsReader(values, source.getOrigin().location());
    for (String key : source) {
      if (LimitKeys.isFree(key)) {
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
    Map<String, Map<String, PolicyDefinition>> ofTiers = new HashMap<>();
    tiers.forEach((tier, drafts) -> ofTiers.put(tier, read(drafts)));
    return new WrittenLayer(read(policies), ofTiers, List.copyOf(routes.values()), usualTier);
  }

  private static Map<String, PolicyDefinition> read(Map<String, Draft> drafts) {
    Map<String, PolicyDefinition> read = new HashMap<>();
    drafts.forEach((policy, draft) -> read.put(policy, draft.read()));
    return read;
  }

  /** A file has a property for each leaf; a map from code may contain maps and lists. */
  private void put(String key, @Nullable Object written) {
    Object value = written == null ? "" : written;
    if (value instanceof Map<?, ?> inner) {
      inner.forEach((name, deeper) -> put(key + '.' + name, deeper));
    } else if (value instanceof List<?> list
        && !list.isEmpty()
        && list.stream().allMatch(Map.class::isInstance)) {
      for (int i = 0; i < list.size(); i++) {
        put(key + '[' + i + ']', list.get(i));
      }
    } else if (LimitKeys.isUnder(LimitKeys.ROUTES, key)) {
      putRoute(key, value);
    } else if (LimitKeys.isUnder(LimitKeys.TIERS, key)) {
      putTier(key, value);
    } else if (key.startsWith(POLICIES)) {
      putPolicy(policies, POLICIES, key, value);
    } else {
      throw unknown(origin(key, value));
    }
  }

  private Origin origin(String key, Object value) {
    return new Origin(key, SettingConverter.shown(values.resolved(key, value)), origin);
  }

  private void putRoute(String key, Object value) {
    Matcher path = ROUTE.matcher(key);
    if (!path.matches()) {
      throw origin(key, value)
          .mistake(
              "a route has path, except, methods and policy: write a list, such as %s[0].path"
                  .formatted(LimitKeys.ROUTES));
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

  private void putTier(String key, Object value) {
    Matcher tier = TIER.matcher(key);
    if (key.equals(LimitKeys.TIERS + ".default")) {
      Origin usual = origin(key, value);
      if (!usual.value().matches(TIER_NAME)) {
        throw usual.mistake("name a tier in lower-case letters, digits and hyphens, such as free");
      }
      usualTier = Optional.of(usual);
      return;
    }
    if (!tier.matches()) {
      throw origin(key, value)
          .mistake(
              "name a tier in lower-case letters, digits and hyphens, and a policy: write %s.pro.<policy>.rules[0].count, for example"
                  .formatted(LimitKeys.TIERS));
    }
    Map<String, Draft> of = tiers.computeIfAbsent(tier.group(1), any -> new HashMap<>());
    if (tiers.size() > LimitKeys.MAX_TIERS) {
      throw origin(key, value)
          .mistake("there may be %s tiers at most".formatted(LimitKeys.MAX_TIERS));
    }
    String prefix = LimitKeys.TIERS + '.' + tier.group(1) + '.';
    if (hasRules(key.substring(prefix.length()))) {
      putPolicy(of, prefix, key, value);
      return;
    }
    requireUnlimited(origin(key, value), key);
    Draft draft = draft(of, prefix, tier.group(2));
    draft.others = draft.others.withoutLimits();
  }

  /** Splits a key at the rules of a policy and before a member. A tier has only rules. */
  private void putPolicy(Map<String, Draft> of, String prefix, String key, Object value) {
    Matcher item = ITEM.matcher(key);
    boolean isItem = key.endsWith("]") && item.matches();
    String path = isItem ? item.group(1) : key;
    RuleList list = list(path, prefix.length());
    int end = before(list, path, prefix.length());
    boolean ofRule = end > 0;
    int rule = end + under(list).length();
    var members = ofRule ? PolicyMember.ofRule() : PolicyMember.ofPolicy();
    int dot = beforeMember(members, path, ofRule ? rule : prefix.length());
    PolicyMember<?> member = members.get(path.substring(dot + 1));
    ModuleSettings.successor(path, value)
        .ifPresent(
            remedy -> {
              throw origin(key, value).mistake(remedy);
            });
    if (member == null || (isItem && !member.isList()) || (!ofRule && !prefix.equals(POLICIES))) {
      throw unknown(origin(key, value));
    }
    if (isItem) {
      items
          .computeIfAbsent(path, any -> new TreeMap<>())
          .put(Integer.valueOf(item.group(2)), value);
      return;
    }
    Draft draft = draft(of, prefix, path.substring(prefix.length(), ofRule ? end : dot));
    if (ofRule) {
      putRule(draft, list, path.substring(rule, dot), member, key, value);
    } else {
      draft.others = draft.others.withMembers(with(draft.others.members(), member, key, value));
    }
  }

  /** The list in which a rule of a path is; a rule by its name is in all lists. */
  private static RuleList list(String path, int from) {
    if (before(RuleList.ANONYMOUS, path, from) > 0) {
      return RuleList.ANONYMOUS;
    }
    return before(RuleList.TRIAL, path, from) > 0 ? RuleList.TRIAL : RuleList.RULES;
  }

  private static String under(RuleList list) {
    return '.' + list.path();
  }

  /**
   * @param rule the index of the rule in brackets, or its name after a dot
   */
  private void putRule(
      Draft draft, RuleList list, String rule, PolicyMember<?> member, String key, Object value) {
    MemberSet none = MemberSet.of(key.substring(0, key.length() - member.path().length() - 1));
    Matcher place = ITEM.matcher(rule);
    if (rule.startsWith(".") && list == RuleList.RULES) {
      draft.others = draft.others.withChange(rule.substring(1), with(none, member, key, value));
    } else if (place.matches() && place.group(1).isEmpty()) {
      draft
          .lists
          .computeIfAbsent(list, any -> new TreeMap<>())
          .compute(
              Integer.valueOf(place.group(2)),
              (index, known) -> with(known == null ? none : known, member, key, value));
    } else {
      throw unknown(origin(key, value));
    }
  }

  private static boolean hasRules(String path) {
    return Stream.of(RuleList.values()).anyMatch(list -> path.contains(begin(list)));
  }

  /** A policy may be named search.trial, so of that list only items are settings. */
  private static String begin(RuleList list) {
    return list == RuleList.TRIAL ? under(list) + '[' : under(list);
  }

  /** The end of the name of a policy whose rules follow; -1 if none do. */
  private static int before(RuleList list, String path, int from) {
    int dot = path.indexOf(begin(list), from + 1);
    while (dot > 0 && !LimitKeys.isUnder(under(list), path.substring(dot))) {
      dot = path.indexOf(begin(list), dot + 1);
    }
    return dot;
  }

  /** The dot before the longest member that a path ends with, after this index; -1 if none is. */
  private static int beforeMember(Map<String, PolicyMember<?>> members, String path, int from) {
    int dot = path.indexOf('.', from + 1);
    while (dot > 0 && !members.containsKey(path.substring(dot + 1))) {
      dot = path.indexOf('.', dot + 1);
    }
    return dot;
  }

  private static Draft draft(Map<String, Draft> of, String prefix, String policy) {
    return of.computeIfAbsent(policy, name -> new Draft(PolicyDefinition.of(name, prefix + name)));
  }

  private MemberSet with(MemberSet members, PolicyMember<?> member, String key, Object value) {
    return values.with(members, member, value, key, origin);
  }

  /** The nearest of the settings that the name may mean, else an example. */
  private static ConfigurationException unknown(Origin setting) {
    String key = setting.key();
    boolean ofRule = hasRules(key);
    List<String> paths =
        List.copyOf((ofRule ? PolicyMember.ofRule() : PolicyMember.ofPolicy()).keySet());
    String last = key.substring(key.lastIndexOf('.') + 1);
    String lastTwo = key.substring(key.lastIndexOf('.', key.lastIndexOf('.') - 1) + 1);
    if (Stream.of(RuleList.values()).anyMatch(list -> key.endsWith(under(list)))
        || (ofRule && paths.contains(last))) {
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

  /** The name of the environment variable that sets this; an index of a list is {@code _0_}. */
  static String variable(String name) {
    String plain = PLACE.matcher(name).replaceAll(".$1.");
    return UnknownSettings.variable(
        plain.endsWith(".") ? plain.substring(0, plain.length() - 1) : plain);
  }

  /**
   * What environment variables set. A variable is never split: the names for all known members are
   * looked up.
   */
  static final class VariableLayer implements Layer {

    /** Micronaut converts _3_ to [3]. */
    private static final Pattern INDEXED = Pattern.compile("\\[(\\d+)]");

    private static final List<String> OURS =
        LimitKeys.FREE.stream().map(prefix -> variable(prefix) + '_').toList();

    private final NavigableMap<String, Origin> byName = new TreeMap<>();
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
        Optional<String> tier,
        PolicyDefinition known,
        Function<PolicyDefinition, Set<String>> ruleNames) {
      if (byName.isEmpty()) { // as usual, and there may be thousands of policies
        return known;
      }
      String prefix = LimitKeys.place(tier, known.name());
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
                  known.members().with(members(prefix, PolicyMember.ofPolicy().values())));
      for (Map.Entry<RuleList, List<MemberSet>> list : known.lists().entrySet()) {
        changed =
            changed.withList(list.getKey(), items(prefix + under(list.getKey()), list.getValue()));
      }
      for (String name : ruleNames.apply(known)) {
        MemberSet some =
            members(
                "%s%s.%s".formatted(prefix, under(RuleList.RULES), name),
                PolicyMember.ofRule().values());
        changed = some.isEmpty() ? changed : changed.withChange(name, some);
      }
      return changed;
    }

    private List<MemberSet> items(String list, List<MemberSet> known) {
      List<MemberSet> rules = new ArrayList<>(known);
      for (int i = 0; i < rules.size(); i++) {
        String rule = "%s[%s]".formatted(list, i);
        rules.set(i, rules.get(i).with(members(rule, PolicyMember.ofRule().values())));
      }
      return rules;
    }

    @Override
    public List<Map<String, Origin>> change(List<Map<String, Origin>> known) {
      if (!mayChange(LimitKeys.ROUTES)) {
        return known;
      }
      List<Map<String, Origin>> changed = new ArrayList<>();
      for (int i = 0; i < known.size(); i++) {
        Map<String, Origin> route = new TreeMap<>(known.get(i));
        for (String member : LimitKeys.ROUTE_MEMBERS) {
          find("%s[%s].%s".formatted(LimitKeys.ROUTES, i, member))
              .ifPresent(value -> route.put(member, value));
        }
        changed.add(route);
      }
      return changed;
    }

    @Override
    public Optional<Origin> change(Optional<Origin> known) {
      return find(LimitKeys.TIERS + ".default").or(() -> known);
    }

    @Override
    public boolean mayChange(String tier, String policy) {
      return mayChange(LimitKeys.place(Optional.of(tier), policy));
    }

    /** Whether a variable begins like those of a prefix. */
    private boolean mayChange(String prefix) {
      if (byName.isEmpty()) {
        return false;
      }
      String first = variable(prefix);
      String next = byName.ceilingKey(first);
      return next != null && next.startsWith(first);
    }

    private MemberSet members(String place, Collection<PolicyMember<?>> some) {
      MemberSet members = MemberSet.of(place);
      for (PolicyMember<?> member : some) {
        Optional<Origin> found = find(place + '.' + member.path());
        if (found.isPresent()) {
          Origin value = found.get();
          members = values.with(members, member, value.value(), value.key(), value.source());
        }
      }
      return members;
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

    /** Whether a variable may be one of ours. */
    boolean hasAny() {
      return !byName.isEmpty();
    }

    /** The variables that were looked up for no setting. */
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
