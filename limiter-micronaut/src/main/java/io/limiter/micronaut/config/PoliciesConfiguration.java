// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.limiter.core.Policy;
import io.limiter.core.redis.RedisSettings.PolicyDeadlines;
import io.limiter.core.resilience.Fallback;
import io.limiter.core.util.NearestNames;
import io.limiter.micronaut.config.CallerConfiguration.BlockConfiguration;
import io.limiter.micronaut.config.CallerConfiguration.ExemptConfiguration;
import io.limiter.micronaut.config.LimitSettings.RouteSettings;
import io.micronaut.context.BeanContext;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.env.Environment;
import io.micronaut.context.env.PropertySource;
import io.micronaut.context.env.PropertySource.PropertyConvention;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.annotation.Internal;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Settings of single policies, under {@code limiter.policies.<name>}: all members of {@code
 * RateLimiter} and of its rules, {@code fallback}, {@code deadline}, {@code observe}, {@code
 * deny-cache} and {@code enabled}.
 *
 * <pre>{@code
 * limiter:
 *   policies:
 *     login:
 *       rules: {5-per-60s: {count: 8}}        # one number of one rule
 *     search:
 *       rules: [{count: 2, time: 60s}]        # replaces the rules of @RateLimiter("search")
 * }</pre>
 *
 * <p>Policy names are case-sensitive and may contain dots. The properties are therefore read as
 * they are written, since Micronaut binds them under normalized names. An environment variable sets
 * a policy whose name has only small letters, digits and hyphens: {@code
 * LIMITER_POLICIES_LOGIN_RULES_5_PER_60S_COUNT}.
 *
 * <p>A list of rules replaces the list of a source with a lower precedence; single settings replace
 * single settings.
 */
@Context // created at the start, so that a mistake stops it
public final class PoliciesConfiguration {

  /** Prefix of the settings of all policies. */
  public static final String PREFIX = LimiterConfiguration.PREFIX + ".policies";

  static final String RULE_PATHS = alternatives(PolicySettings.OF_RULE, false);

  private static final Pattern PATH =
      Pattern.compile(
          "(?<policy>.+?)\\.(?:(?<member>%s)|rules\\[(?<index>\\d{1,4})]\\.(?<listed>%s)|rules\\.(?<rule>.+)\\.(?<changed>%s))"
              .formatted(
                  alternatives(
                      Stream.concat(
                              PolicySettings.OF_POLICY.stream(), PolicySettings.OF_LIMITER.stream())
                          .toList(),
                      false),
                  RULE_PATHS,
                  RULE_PATHS));

  private static final Pattern ROUTE =
      Pattern.compile(
          Pattern.quote(RouteSettings.PREFIX)
              + "\\[(\\d{1,4})]\\.("
              + String.join("|", RouteSettings.MEMBERS)
              + ")");

  private static final Pattern VARIABLE =
      Pattern.compile(
          "LIMITER_POLICIES_(?<policy>[A-Z][A-Z0-9_]*?)_(?:(?<member>%s)|RULES_(?<rule>.+)_(?<changed>%s))"
              .formatted(
                  alternatives(
                      Stream.concat(
                              PolicySettings.OF_POLICY.stream(), PolicySettings.OF_LIMITER.stream())
                          .toList(),
                      true),
                  alternatives(PolicySettings.OF_RULE, true)));

  private final BeanContext beans;
  private final Environment environment;
  private final RedisConfiguration redis;
  private final PolicyDeadlines deadlines;
  private volatile LimitSettings current;

  // Those of them that each request needs.
  private volatile Map<String, Fallback> fallbacks;
  private volatile @Nullable BlockConfiguration block;

  PoliciesConfiguration(
      BeanContext beans,
      Environment environment,
      RedisConfiguration redis,
      ExemptConfiguration exempt,
      BlockConfiguration block) {
    this.beans = beans;
    this.environment = environment;
    this.redis = redis;
    this.current = read(exempt, block, Map.of(), Map.of());
    this.fallbacks = current.fallbacks();
    this.block = current.block().orElse(null);
    this.deadlines = new PolicyDeadlines(current.deadlines());
  }

  /** Whether an environment variable of this name sets something of a policy. */
  static boolean isVariable(String name) {
    return VARIABLE.matcher(name).matches();
  }

  private static String alternatives(List<String> paths, boolean ofVariables) {
    return paths.stream()
        .map(path -> ofVariables ? UnknownSettings.variable(path) : Pattern.quote(path))
        .collect(Collectors.joining("|"));
  }

  /**
   * Reads the settings as they are now, without using them.
   *
   * @param shared settings that all instances share, by their names under {@link #PREFIX}; they
   *     take precedence
   * @param own settings of this instance alone, which take precedence over those
   * @throws ConfigurationException naming the first setting that is invalid
   */
  @Internal
  public LimitSettings read(Map<String, String> shared, Map<String, String> own) {
    // Made from what the environment has now: Micronaut keeps the first ones.
    return read(
        beans.createBean(ExemptConfiguration.class),
        beans.createBean(BlockConfiguration.class),
        shared,
        own);
  }

  private LimitSettings read(
      ExemptConfiguration exempt,
      BlockConfiguration block,
      Map<String, String> shared,
      Map<String, String> own) {
    PoliciesReader reader = new PoliciesReader(environment);
    environment.getPropertySources().stream()
        .sorted(Comparator.comparingInt(PropertySource::getOrder)) // the last one takes precedence
        .forEach(reader::read);
    reader.read(shared, "Redis");
    reader.read(own, "the endpoint limits");
    LimitSettings read =
        new LimitSettings(
            reader.policies(),
            reader.routes(),
            reader.tiers.read(),
            Optional.of(exempt).filter(lists -> !lists.isEmpty()),
            Optional.of(block).filter(lists -> !lists.isEmpty()));
    var unused = redis.settings(new PolicyDeadlines(read.deadlines())); // rejects what does not fit
    return read;
  }

  /** Uses these settings from now on. */
  @Internal
  public void use(LimitSettings read) {
    deadlines.use(read.deadlines());
    fallbacks = read.fallbacks();
    block = read.block().orElse(null);
    current = read;
  }

  /** The settings that are in use. */
  @Internal
  public LimitSettings current() {
    return current;
  }

  /** The callers whose requests are rejected; null if there are none. */
  @Internal
  public @Nullable BlockConfiguration block() {
    return block;
  }

  /**
   * The fallbacks of all policies, as they are configured when a call needs one.
   *
   * @param usual the fallback of policies without their own setting
   */
  public Function<Policy, Fallback> fallbacks(Fallback usual) {
    return policy -> fallbacks.getOrDefault(policy.name(), usual);
  }

  /** The deadlines of policies with their own setting, as they are when a decision begins. */
  public PolicyDeadlines deadlines() {
    return deadlines;
  }

  /** The policies that are only observed: they never deny. None by default. */
  public Set<String> observed() {
    return current.policies().entrySet().stream()
        .filter(policy -> policy.getValue().observed())
        .map(Map.Entry::getKey)
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** Whether denials of this policy may be answered without a call to Redis. */
  @Internal
  public boolean denyCache(String policy) {
    return of(policy).denyCache();
  }

  /** The settings of a policy; {@link PolicySettings#NONE} if it has none. */
  @Internal
  public PolicySettings of(String policy) {
    return current.policies().getOrDefault(policy, PolicySettings.NONE);
  }

  /** Collects the settings of all sources, that of the lowest precedence first. */
  private static final class PoliciesReader {

    /** The settings of one policy; of a rule by its name or, from a variable, in capitals. */
    private record WrittenPolicy(
        Map<String, WrittenSetting> members,
        Map<Integer, Map<String, WrittenSetting>> rules,
        Map<String, Map<String, WrittenSetting>> changes) {}

    private final Environment environment;
    private final Map<String, WrittenPolicy> policies = new TreeMap<>();
    private final Map<Integer, Map<String, WrittenSetting>> routes = new TreeMap<>();

    /** The policies of whose rules the current source has a list. */
    private final Set<String> listed = new TreeSet<>();

    private boolean routesListed;

    private final TierSettings.TiersReader tiers = new TierSettings.TiersReader();

    PoliciesReader(Environment environment) {
      this.environment = environment;
    }

    void read(Map<String, String> settings, String origin) {
      settings.forEach(
          (name, value) -> put(new WrittenSetting(PREFIX + '.' + name, value, origin)));
    }

    void read(PropertySource source) {
      listed.clear();
      routesListed = false;
      tiers.next();
      boolean variables = source.getConvention() == PropertyConvention.ENVIRONMENT_VARIABLE;
      String origin =
          source.getOrigin().location().equals(PropertySource.CONTEXT)
              ? source.getName()
              : source.getOrigin().location();
      for (String name : source) {
        if (variables) {
          readVariable(name, source.get(name), origin);
        } else if (name.startsWith(PREFIX)
            || name.startsWith(RouteSettings.PREFIX)
            || name.startsWith(TierSettings.PREFIX)
            || name.equals(LimiterConfiguration.PREFIX)) {
          read(name, source.get(name), origin);
        }
      }
    }

    /** A file has a property for each leaf; lists and maps from code contain maps. */
    private void read(String key, @Nullable Object value, String origin) {
      if (value instanceof Map<?, ?> map) {
        map.forEach((name, inner) -> read(key + '.' + name, inner, origin));
      } else if (value instanceof List<?> list && list.stream().anyMatch(Map.class::isInstance)) {
        for (int i = 0; i < list.size(); i++) {
          read(key + '[' + i + ']', list.get(i), origin);
        }
      } else if (isUnder(PREFIX, key)) {
        put(new WrittenSetting(key, text(key, value), origin));
      } else if (isUnder(RouteSettings.PREFIX, key)) {
        putRoute(new WrittenSetting(key, text(key, value), origin));
      } else if (isUnder(TierSettings.PREFIX, key)) {
        tiers.put(new WrittenSetting(key, text(key, value), origin));
      }
    }

    private static boolean isUnder(String prefix, String key) {
      return key.equals(prefix) || key.startsWith(prefix + '.') || key.startsWith(prefix + '[');
    }

    private void putRoute(WrittenSetting setting) {
      Matcher path = ROUTE.matcher(setting.key());
      if (!path.matches()) {
        throw setting.mistake(
            "a route has path, methods and policy: write a list, such as %s[0].path"
                .formatted(RouteSettings.PREFIX));
      }
      if (!routesListed) {
        routesListed = true;
        routes.clear(); // those of a lower precedence
      }
      routes
          .computeIfAbsent(Integer.valueOf(path.group(1)), any -> new TreeMap<>())
          .put(path.group(2), setting);
    }

    List<RouteSettings> routes() {
      return routes.values().stream().map(RouteSettings::of).toList();
    }

    private void put(WrittenSetting setting) {
      Matcher path =
          PATH.matcher(
              setting.key().substring(Math.min(setting.key().length(), PREFIX.length() + 1)));
      if (!path.matches() || setting.key().charAt(PREFIX.length()) != '.') {
        throw unknown(setting);
      }
      WrittenPolicy policy = policy(path.group("policy"));
      if (path.group("member") != null) {
        policy.members.put(path.group("member"), setting);
      } else if (path.group("index") != null) {
        if (listed.add(path.group("policy"))) {
          policy.rules.clear(); // those of a lower precedence
        }
        policy
            .rules
            .computeIfAbsent(Integer.valueOf(path.group("index")), any -> new TreeMap<>())
            .put(path.group("listed"), setting);
      } else {
        String rule = path.group("rule");
        Map<String, WrittenSetting> ofVariables =
            policy.changes.remove(UnknownSettings.variable(rule));
        Map<String, WrittenSetting> changes =
            policy.changes.computeIfAbsent(rule, any -> new TreeMap<>());
        if (ofVariables != null) {
          changes.putAll(ofVariables);
        }
        changes.put(path.group("changed"), setting);
      }
    }

    private void readVariable(String name, @Nullable Object value, String origin) {
      Matcher path = VARIABLE.matcher(name);
      if (!path.matches()) {
        return; // UnknownSettings warns
      }
      WrittenSetting setting = new WrittenSetting(name, text(name, value), origin);
      WrittenPolicy policy =
          policy(path.group("policy").toLowerCase(Locale.ROOT).replace('_', '-'));
      if (path.group("member") != null) {
        policy.members.put(
            spelled(
                path.group("member"),
                Stream.concat(
                    PolicySettings.OF_POLICY.stream(), PolicySettings.OF_LIMITER.stream())),
            setting);
      } else {
        String rule = path.group("rule");
        String written =
            policy.changes.keySet().stream()
                .filter(known -> PolicySettings.isSameRule(rule, known))
                .findFirst()
                .orElse(rule);
        policy
            .changes
            .computeIfAbsent(written, any -> new TreeMap<>())
            .put(spelled(path.group("changed"), PolicySettings.OF_RULE.stream()), setting);
      }
    }

    private static String spelled(String variable, Stream<String> paths) {
      return paths
          .filter(path -> UnknownSettings.variable(path).equals(variable))
          .findFirst()
          .orElseThrow();
    }

    private WrittenPolicy policy(String name) {
      return policies.computeIfAbsent(
          name, any -> new WrittenPolicy(new TreeMap<>(), new TreeMap<>(), new TreeMap<>()));
    }

    /** The text of a value with resolved placeholders. */
    private String text(String key, @Nullable Object value) {
      if (value instanceof Collection<?> items) {
        return items.stream().map(item -> text(key, item)).collect(Collectors.joining(","));
      }
      String raw = value == null ? "" : value.toString();
      try {
        return environment.getPlaceholderResolver().resolveRequiredPlaceholders(raw);
      } catch (ConfigurationException unresolved) {
        throw new ConfigurationException(
            "%s = %s: %s: set it, or give it a default, as in ${name:default}"
                .formatted(key, raw, unresolved.getMessage()),
            unresolved);
      }
    }

    Map<String, PolicySettings> policies() {
      Map<String, PolicySettings> read = new HashMap<>();
      policies.forEach(
          (name, written) ->
              read.put(
                  name,
                  new PolicySettings(
                      written.members,
                      List.copyOf(written.rules.values()),
                      written.changes,
                      Optional.of(environment))));
      return Collections.unmodifiableMap(read);
    }

    /** The nearest of the settings that the name may mean, else an example. */
    private static ConfigurationException unknown(WrittenSetting setting) {
      String key = setting.key();
      boolean ofRule = key.contains(".rules");
      List<String> paths =
          ofRule
              ? PolicySettings.OF_RULE
              : Stream.concat(PolicySettings.OF_POLICY.stream(), PolicySettings.OF_LIMITER.stream())
                  .toList();
      String last = key.substring(key.lastIndexOf('.') + 1);
      String lastTwo = key.substring(key.lastIndexOf('.', key.lastIndexOf('.') - 1) + 1);
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
      String remedy =
          key.endsWith(".rules")
              ? "write a list of rules, or settings by the names of rules, such as %s.<name>.rules.5-per-60s.count"
                  .formatted(PREFIX)
              : nearest.isEmpty()
                  ? "there is no such setting of a %s. They are %s; write %s, for example"
                      .formatted(
                          ofRule ? "rule" : "policy",
                          String.join(", ", paths),
                          ofRule ? PREFIX + ".<name>.rules[0].count" : PREFIX + ".<name>.fallback")
                  : "there is no such setting of a %s; did you mean %s?"
                      .formatted(ofRule ? "rule" : "policy", String.join(" or ", nearest));
      return setting.mistake(remedy);
    }
  }
}
