// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.limiter.core.Fallback;
import io.limiter.core.Policy;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.RedisSettings.PolicyDeadlines;
import io.limiter.micronaut.config.CallerConfiguration.BlockConfiguration;
import io.limiter.micronaut.config.CallerConfiguration.ExemptConfiguration;
import io.limiter.micronaut.config.SettingsReader.Layer;
import io.limiter.micronaut.config.SettingsReader.SettingConverter;
import io.limiter.micronaut.config.SettingsReader.VariableLayer;
import io.limiter.micronaut.definition.MemberSet;
import io.limiter.micronaut.definition.PolicyMember;
import io.limiter.micronaut.definition.PolicyMember.Sourced;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.env.DefaultPropertyPlaceholderResolver;
import io.micronaut.context.env.Environment;
import io.micronaut.context.env.PropertySource;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.value.PropertyResolver;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Settings of single policies, under {@code limiter.policies.<name>}, of tiers and of routes.
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
 * a member of a policy that an annotation or a file names: {@code
 * LIMITER_POLICIES_LOGIN_RULES_5_PER_60S_COUNT}.
 *
 * <p>A list of rules replaces the list of a source with a lower precedence; single settings replace
 * single settings.
 */
@Context // created at the start, so that a mistake stops it
public final class PoliciesConfiguration {

  /** Prefix of the settings of all policies. */
  public static final String PREFIX = LimiterConfiguration.PREFIX + ".policies";

  private final RedisConfiguration redis;
  private final boolean listsAtRunTime;
  private final PolicyDeadlines deadlines;
  private volatile InUse inUse;

  /**
   * The settings that are in use. How calls under a policy are decided, and who decides while the
   * store is away, is known by the name of the policy where it differs from the default.
   *
   * @param names of all policies
   * @param notCached the policies whose denials always come from the store
   * @param block the callers whose requests are rejected; null if there are none
   */
  private record InUse(
      LimitSettings settings,
      Set<String> names,
      Map<String, Duration> deadlines,
      Map<String, Fallback> fallbacks,
      Set<String> notCached,
      @Nullable BlockConfiguration block) {}

  PoliciesConfiguration(
      Environment environment, RedisConfiguration redis, @Nullable ListedCallers listed) {
    this.redis = redis;
    this.listsAtRunTime = listed != null;
    LimitSettings settings = read(SettingSources.atStart(environment), Map.of(), Map.of());
    this.inUse = prepared(settings, settings.policies());
    this.deadlines = new PolicyDeadlines(inUse.deadlines());
  }

  /**
   * Reads settings, without using them.
   *
   * @param sources what the application has
   * @param shared settings that all instances share, by their names under {@link #PREFIX}; they
   *     take precedence
   * @param own settings of this instance alone, which take precedence over those
   * @throws io.micronaut.context.exceptions.ConfigurationException naming the first setting that is
   *     invalid
   */
  @Internal
  public LimitSettings read(
      SettingSources sources, Map<String, String> shared, Map<String, String> own) {
    PropertyResolver now = sources.properties();
    SettingConverter values =
        new SettingConverter(
            new DefaultPropertyPlaceholderResolver(now, sources.conversions()),
            sources.conversions());
    List<Layer> layers = new ArrayList<>();
    for (PropertySource source : sources.all()) {
      layers.add(
          SettingsReader.isVariables(source)
              ? new VariableLayer(source, values)
              : SettingsReader.read(source, values));
    }
    layers.add(SettingsReader.read(shared, "Redis", values));
    layers.add(SettingsReader.read(own, "the endpoint limits", values));
    return new LimitSettings(
        sources.all(),
        layers,
        Optional.of(ExemptConfiguration.of(now)).filter(lists -> !lists.isEmpty()),
        BlockConfiguration.of(now),
        listsAtRunTime);
  }

  /** Rejects what does not fit the settings of Redis. */
  private InUse prepared(LimitSettings read, Set<String> names) {
    Map<String, Duration> deadlines = new HashMap<>();
    Map<String, Fallback> fallbacks = new HashMap<>();
    Set<String> notCached = new HashSet<>();
    for (String policy : names) {
      MemberSet members = read.of(policy).members();
      members
          .find(PolicyMember.DEADLINE)
          .ifPresent(written -> deadlines.put(policy, deadline(written)));
      members.get(PolicyMember.FALLBACK).ifPresent(own -> fallbacks.put(policy, own));
      if (members.isFalse(PolicyMember.DENY_CACHE)) {
        notCached.add(policy);
      }
    }
    var unused = redis.settings(new PolicyDeadlines(deadlines));
    return new InUse(read, names, deadlines, fallbacks, notCached, read.block().orElse(null));
  }

  private static Duration deadline(Sourced<Duration> written) {
    if (written.value().compareTo(RedisSettings.MIN_DEADLINE) < 0
        || written.value().compareTo(RedisSettings.MAX_DEADLINE) > 0) {
      throw PolicyMember.DEADLINE.mistake(written.origin());
    }
    return written.value();
  }

  /**
   * Finds the treatments of policies, which may be invalid.
   *
   * @param policies the names of all policies
   * @return uses the settings from now on
   */
  @Internal
  public Runnable prepare(LimitSettings read, Collection<String> policies) {
    Set<String> all = new TreeSet<>(read.policies());
    all.addAll(policies);
    InUse next = prepared(read, all);
    return () -> {
      deadlines.use(next.deadlines());
      inUse = next;
    };
  }

  /**
   * The environment variables that may set members of a policy.
   *
   * @param rules the names of its rules
   */
  @Internal
  public static Set<String> variables(String policy, Set<String> rules) {
    String prefix = PREFIX + '.' + policy + '.';
    Set<String> names = new TreeSet<>();
    PolicyMember.ofPolicy().keySet().forEach(path -> names.add(prefix + path));
    for (String rule : rules) {
      PolicyMember.ofRule()
          .keySet()
          .forEach(path -> names.add(prefix + "rules." + rule + '.' + path));
    }
    return names.stream().map(SettingsReader::variable).collect(Collectors.toSet());
  }

  /** The beginning of the environment variables of a policy. */
  @Internal
  public static String variable(String policy) {
    return UnknownSettings.variable(PREFIX + '.' + policy + '.');
  }

  /** The settings that are in use. */
  @Internal
  public LimitSettings current() {
    return inUse.settings();
  }

  /** The callers whose requests are rejected; null if there are none. */
  @Internal
  public @Nullable BlockConfiguration block() {
    return inUse.block();
  }

  /**
   * The fallbacks of all policies, as configured when a call needs one. A call under several
   * policies has the strictest.
   *
   * @param usual the fallback of policies without their own setting
   */
  public Function<Policy, Fallback> fallbacks(Fallback usual) {
    return policy -> {
      Map<String, Fallback> own = inUse.fallbacks();
      List<String> parts = policy.parts();
      Fallback strictest = own.getOrDefault(parts.get(0), usual);
      for (int i = 1; i < parts.size(); i++) {
        strictest = strictest.and(own.getOrDefault(parts.get(i), usual));
      }
      return strictest;
    };
  }

  /** The deadlines of policies with their own setting, as they are when a decision begins. */
  public PolicyDeadlines deadlines() {
    return deadlines;
  }

  /** The policies that are only observed: they never deny. None by default. */
  public Set<String> observed() {
    InUse now = inUse;
    return now.names().stream()
        .filter(policy -> now.settings().of(policy).members().isTrue(PolicyMember.OBSERVE))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** Whether denials of this policy may be answered without a call to Redis. */
  @Internal
  public boolean denyCache(Policy policy) {
    Set<String> not = inUse.notCached();
    return not.isEmpty() || Collections.disjoint(policy.parts(), not);
  }
}
