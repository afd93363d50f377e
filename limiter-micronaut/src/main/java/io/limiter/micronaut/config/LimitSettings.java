// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.limiter.micronaut.config.CallerConfiguration.BlockConfiguration;
import io.limiter.micronaut.config.CallerConfiguration.ExemptConfiguration;
import io.limiter.micronaut.config.SettingsReader.Layer;
import io.limiter.micronaut.config.SettingsReader.VariableLayer;
import io.limiter.micronaut.config.SettingsReader.WrittenLayer;
import io.limiter.micronaut.definition.MemberSet;
import io.limiter.micronaut.definition.Origin;
import io.limiter.micronaut.definition.PolicyDefinition;
import io.micronaut.context.env.PropertySource;
import io.micronaut.core.annotation.Internal;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The configured limits at one moment. Each layer changes a policy in turn, those of a lower
 * precedence first, and those of a tier last: the last one wins.
 */
@Internal
public final class LimitSettings {

  private final List<PropertySource> sources;
  private final List<Layer> layers;
  private final boolean hasVariables;
  private final Map<String, PolicyDefinition> policies = new TreeMap<>();
  private final Set<String> tiers = new TreeSet<>();
  private final List<Route> routes;
  private final Optional<String> usualTier;
  private final Optional<ExemptConfiguration> exempt;
  private final BlockConfiguration block;
  private final boolean listsAtRunTime;

  /**
   * @param sources by which they were read
   * @param layers those of the lowest precedence first
   * @param exempt the callers without limits; empty if there are none
   * @param block the callers whose requests are rejected
   * @param listsAtRunTime whether callers can be exempt and blocked at run time, too
   */
  LimitSettings(
      List<PropertySource> sources,
      List<Layer> layers,
      Optional<ExemptConfiguration> exempt,
      BlockConfiguration block,
      boolean listsAtRunTime) {
    this.sources = sources;
    this.layers = List.copyOf(layers);
    this.exempt = exempt;
    this.block = block;
    this.listsAtRunTime = listsAtRunTime;
    Set<String> names = new TreeSet<>();
    List<Map<String, Origin>> paths = List.of();
    Optional<Origin> usual = Optional.empty();
    for (Layer layer : layers) {
      paths = layer.change(paths);
      usual = layer.change(usual);
      if (layer instanceof WrittenLayer source) {
        names.addAll(source.policies().keySet());
        tiers.addAll(source.tiers().keySet());
      }
    }
    this.hasVariables =
        layers.stream()
            .anyMatch(layer -> layer instanceof VariableLayer variables && variables.hasAny());
    names.forEach(policy -> policies.put(policy, of(Optional.empty(), policy)));
    this.routes = paths.stream().map(Route::of).toList();
    usual
        .filter(tier -> !tiers.contains(tier.value()))
        .ifPresent(
            tier -> {
              throw tier.mistake(
                  "this tier has no rules: write them under %s.%s, or leave it out, and callers without a tier have the usual rules"
                      .formatted(LimitKeys.TIERS, tier.value()));
            });
    this.usualTier = usual.map(Origin::value);
  }

  /** What the application had when they were read. */
  public List<PropertySource> sources() {
    return sources;
  }

  /** The names of the policies that files and code configure, sorted. */
  public Set<String> policies() {
    return policies.keySet();
  }

  /** The names of the tiers with rules of their own, sorted. */
  public Set<String> tiers() {
    return tiers;
  }

  /** The tier of callers without another; empty if those have the usual rules. */
  public Optional<String> usualTier() {
    return usualTier;
  }

  /** Whether a setting has the name of this tier. */
  public boolean isTier(String name) {
    return tiers.contains(name);
  }

  /** The limits on paths, in their order. */
  public List<Route> routes() {
    return routes;
  }

  /** The callers without limits. */
  public Optional<ExemptConfiguration> exempt() {
    return exempt;
  }

  /** Whether there may be callers without limits. */
  public boolean mayExempt() {
    return listsAtRunTime || exempt.isPresent();
  }

  /** The callers whose requests are rejected. */
  public Optional<BlockConfiguration> block() {
    return Optional.of(block).filter(lists -> !lists.isEmpty());
  }

  /** How a blocked caller is answered, also if it was blocked at run time. */
  public BlockConfiguration blockResponse() {
    return block;
  }

  /** The changes of policies for all callers. */
  public PolicyChanges changes() {
    return (policy, nameOf) -> change(Optional.empty(), policy, nameOf);
  }

  /** The changes of policies for callers of a tier. */
  public PolicyChanges changes(String tier) {
    return (policy, nameOf) -> {
      PolicyDefinition usual = change(Optional.empty(), policy, nameOf);
      return usual.with(change(Optional.of(tier), policy.with(usual), nameOf));
    };
  }

  private PolicyDefinition change(
      Optional<String> tier, PolicyDefinition policy, Function<MemberSet, String> nameOf) {
    PolicyDefinition written = tier.isEmpty() && !hasVariables ? policies.get(policy.name()) : null;
    if (written != null) { // variables alone depend on the names of the policy's rules
      return written;
    }
    return read(tier, policy.name(), known -> names(policy.with(known), known, nameOf));
  }

  private PolicyDefinition read(
      Optional<String> tier, String policy, Function<PolicyDefinition, Set<String>> ruleNames) {
    PolicyDefinition change = PolicyDefinition.of(policy, LimitKeys.place(tier, policy));
    for (Layer layer : layers) {
      change = layer.change(tier, change, ruleNames);
    }
    return change;
  }

  /** The names that rules have without single changes, and those that changes use already. */
  private static Set<String> names(
      PolicyDefinition policy, PolicyDefinition known, Function<MemberSet, String> nameOf) {
    Set<String> names = new TreeSet<>(policy.ruleNames(nameOf));
    names.addAll(known.changes().keySet());
    return names;
  }

  /** The settings of a policy in files and code; empty if the name is unknown. */
  public PolicyDefinition of(String policy) {
    PolicyDefinition known = policies.get(policy);
    return known == null ? of(Optional.empty(), policy) : known;
  }

  /** The settings of a policy in a tier; empty if a name is unknown. */
  public PolicyDefinition of(String tier, String policy) {
    return of(Optional.of(tier), policy);
  }

  private PolicyDefinition of(Optional<String> tier, String policy) {
    return read(tier, policy, change -> Set.of());
  }

  /** Whether a tier changes one of these policies. */
  public boolean changesIn(String tier, Collection<String> some) {
    return some.stream()
        .anyMatch(policy -> layers.stream().anyMatch(layer -> layer.mayChange(tier, policy)));
  }

  /** The policies that a tier changes, sorted. */
  public Set<String> policiesIn(String tier) {
    return layers.stream()
        .filter(WrittenLayer.class::isInstance)
        .map(layer -> ((WrittenLayer) layer).tiers().getOrDefault(tier, Map.of()))
        .flatMap(policies -> policies.keySet().stream())
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** The environment variables that no policy has read so far. */
  public List<String> unusedVariables() {
    return layers.stream()
        .filter(VariableLayer.class::isInstance)
        .flatMap(layer -> ((VariableLayer) layer).unused().stream())
        .filter(variable -> !UnknownSettings.isOfAService(variable))
        .toList();
  }

  /**
   * A limit on paths.
   *
   * @param path an Ant pattern, such as {@code /api/**}
   * @param except patterns of paths that are not limited
   * @param methods the names of HTTP methods in capitals; empty for all
   * @param policy the policy that limits the paths
   */
  public record Route(Origin path, List<Origin> except, Set<String> methods, Origin policy) {

    private static final Set<String> METHODS =
        Set.of("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT");

    /**
     * @param members the settings of one route, by name; not empty
     */
    static Route of(Map<String, Origin> members) {
      Origin path = required(members, "path");
      requirePath(path, path.value());
      return new Route(
          path,
          except(members.get("except")),
          methods(members.get("methods")),
          required(members, "policy"));
    }

    private static void requirePath(Origin written, String path) {
      Bounds.pathRemedy(path)
          .ifPresent(
              remedy -> {
                throw written.mistake(remedy);
              });
    }

    private static List<Origin> except(@Nullable Origin written) {
      if (written == null) {
        return List.of();
      }
      List<String> paths = Arrays.stream(written.value().split(",")).map(String::strip).toList();
      paths.forEach(path -> requirePath(written, path));
      return paths.stream().map(path -> new Origin(written.key(), path, written.source())).toList();
    }

    private static Origin required(Map<String, Origin> members, String member) {
      Origin setting = members.get(member);
      if (setting == null || setting.value().isBlank()) {
        throw members
            .values()
            .iterator()
            .next()
            .mistake(
                "this route has no %s: write path, policy and, if it limits only some calls, except or methods"
                    .formatted(member));
      }
      return setting;
    }

    private static Set<String> methods(@Nullable Origin written) {
      if (written == null) {
        return Set.of();
      }
      Set<String> methods =
          Arrays.stream(written.value().split(","))
              .map(method -> method.strip().toUpperCase(Locale.ROOT))
              .filter(method -> !method.isEmpty())
              .collect(Collectors.toCollection(TreeSet::new));
      if (methods.isEmpty() || !METHODS.containsAll(methods)) {
        throw written.mistake(
            "use some of %s, or leave it out to limit all"
                .formatted(String.join(", ", new TreeSet<>(METHODS))));
      }
      if (methods.contains("GET")) { // a HEAD request is answered by the method for GET
        methods.add("HEAD");
      }
      return methods;
    }
  }
}
