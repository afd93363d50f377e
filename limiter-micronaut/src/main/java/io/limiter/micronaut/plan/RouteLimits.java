// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.util.BoundedCache;
import io.limiter.micronaut.config.LimitSettings.Route;
import io.limiter.micronaut.definition.Origin;
import io.micronaut.core.util.PathMatcher;
import io.micronaut.http.HttpRequest;
import io.micronaut.web.router.UriRouteInfo;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The limits on paths. */
final class RouteLimits {

  static final RouteLimits NONE = new RouteLimits(List.of());

  /** The most combinations of plans: one for each plan and each set of patterns. */
  private static final int MAX_STACKED = 10_000;

  /** The most pairs of patterns that are compared for a warning. */
  private static final long MAX_COMPARED = 100_000;

  /**
   * The limit on one path.
   *
   * @param patterns the pattern as it is written, and that with the context path
   * @param except the patterns of paths that it does not limit, in the same way
   * @param place where it stands, for mistakes
   * @param open where the exceptions stand, for mistakes
   */
  record LimitedPath(
      List<String> patterns,
      List<String> except,
      Set<String> methods,
      LimitPlan plan,
      Origin place,
      List<Origin> open)
      implements PathIndex.OnPath {

    /**
     * @param contextPath of the server; empty if it has none
     */
    LimitedPath(Route route, LimitPlan plan, String contextPath) {
      this(
          PathIndex.patterns(route.path().value(), contextPath),
          route.except().isEmpty() // as mostly, and there may be thousands of routes
              ? List.of()
              : route.except().stream()
                  .flatMap(path -> PathIndex.patterns(path.value(), contextPath).stream())
                  .toList(),
          route.methods(),
          plan,
          route.path(),
          route.except());
    }

    /** The limits of an annotated method. */
    LimitedPath(UriRouteInfo<?, ?> route, LimitPlan plan) {
      this(
          List.of(pattern(route)),
          List.of(),
          Set.of(route.getHttpMethodName()),
          plan,
          Origin.annotated(plan.method(), "@RateLimiter", ""),
          List.of());
    }

    /** The template of a route as a pattern. */
    static String pattern(UriRouteInfo<?, ?> route) {
      return VARIABLE
          .matcher(QUERY.matcher(route.getUriMatchTemplate().toString()).replaceAll(""))
          .replaceAll(variable -> variable.group().matches("\\{[\\w-]+}") ? "*" : "/**/");
    }

    /** Whether one request may be limited by both. */
    boolean meets(LimitedPath other) {
      boolean sameMethod =
          methods.isEmpty()
              || other.methods.isEmpty()
              || methods.stream().anyMatch(other.methods::contains);
      return sameMethod
          && !excepts(other)
          && !other.excepts(this)
          && other.patterns.stream().anyMatch(path -> meetAny(patterns, path));
    }

    private boolean excepts(LimitedPath other) {
      return !except.isEmpty()
          && other.patterns.stream()
              .allMatch(path -> except.stream().anyMatch(open -> covers(open, path)));
    }

    /** Whether a pattern matches all that another one does; false where that is not obvious. */
    private static boolean covers(String open, String path) {
      String below = open.endsWith("/**") ? open.substring(0, open.length() - 2) : "";
      return open.equals(path)
          || (!below.isEmpty() && below.indexOf('*') < 0 && (path + '/').startsWith(below));
    }
  }

  // Of a template: what follows the path, and a variable in it.
  private static final Pattern QUERY = Pattern.compile("\\{[?&#][^}]*}");
  private static final Pattern VARIABLE = Pattern.compile("\\{(?:[^{}]|\\{[^}]*})*}");

  private final List<LimitedPath> limits;
  private final PathIndex<LimitedPath> index;
  private final BoundedCache<List<LimitPlan>, LimitPlan> stacked =
      new BoundedCache<>(MAX_STACKED, plans -> plans.stream().reduce(LimitPlan::and).orElseThrow());

  RouteLimits(List<LimitedPath> limits) {
    this.limits = limits;
    this.index = new PathIndex<>(limits);
  }

  /**
   * The limits, and their exceptions, that meet none of these paths, in words; none if comparing
   * all would take long.
   *
   * @param paths patterns, each with the methods of its routes; empty for all methods
   */
  List<String> unmatched(Map<String, Set<String>> paths, String contextPath) {
    Set<Integer> met = new HashSet<>();
    Set<Origin> metOpen = new HashSet<>();
    int compared = 0;
    for (Map.Entry<String, Set<String>> path : paths.entrySet()) {
      Set<Integer> near = new HashSet<>();
      index.near(path.getKey(), near);
      near.removeIf(
          number -> met.contains(number) && metOpen.containsAll(limits.get(number).open()));
      compared += near.size();
      if (compared > MAX_COMPARED) {
        return List.of();
      }
      for (int number : near) {
        LimitedPath limit = limits.get(number);
        if (limit.meets(
            new LimitedPath(
                List.of(path.getKey()),
                List.of(),
                path.getValue(),
                limit.plan(),
                limit.place(),
                List.of()))) {
          met.add(number);
        }
        if (!limit.open().isEmpty() && meetAny(limit.patterns(), path.getKey())) {
          limit.open().stream()
              .filter(open -> meetAny(PathIndex.patterns(open.value(), contextPath), path.getKey()))
              .forEach(metOpen::add);
        }
      }
    }
    List<String> unmatched = new ArrayList<>();
    for (int i = 0; i < limits.size(); i++) {
      LimitedPath limit = limits.get(i);
      if (!met.contains(i)) {
        unmatched.add( // not formatted, since there may be thousands
            limit.place()
                + ": no route or static file is at "
                + limit.patterns().get(0)
                + (limit.methods().isEmpty() ? "" : " for " + limit.methods())
                + ", so it limits nothing unless a filter answers there: correct the path or the methods");
        continue;
      }
      for (Origin open : limit.open()) {
        if (!metOpen.contains(open)) {
          unmatched.add(
              open
                  + ": no route or static file of this path is there, so it excepts nothing unless a filter answers there: correct or remove it");
        }
      }
    }
    return unmatched;
  }

  /** The plans of all paths. */
  Stream<LimitPlan> plans() {
    return limits.stream().map(LimitedPath::plan);
  }

  /**
   * Requires that limits on the same calls can be decided together.
   *
   * @param methods the paths of annotated methods; asked for only where that may matter
   * @throws io.micronaut.context.exceptions.ConfigurationException naming the route that cannot be
   *     combined
   */
  void requireCombinable(Supplier<List<LimitedPath>> methods) {
    if (limits.stream().noneMatch(limit -> limit.plan().isExclusive())) {
      return;
    }
    List<LimitedPath> all = new ArrayList<>(methods.get());
    int first = all.size();
    all.addAll(limits);
    PathIndex.Branch before = new PathIndex.Branch();
    for (int i = 0; i < all.size(); i++) {
      if (i >= first) {
        requireCombinable(all.get(i), before, all);
      }
      before.add(i, all.get(i).patterns());
    }
  }

  private static void requireCombinable(
      LimitedPath limit, PathIndex.Branch before, List<LimitedPath> all) {
    Set<Integer> found = new TreeSet<>();
    limit.patterns().forEach(pattern -> before.find(PathIndex.segments(pattern), 0, true, found));
    for (int number : found) {
      LimitedPath other = all.get(number);
      if (other.plan() != limit.plan()) {
        Optional<String> why = limit.plan().obstacle(other.plan());
        if (why.isPresent() && other.meets(limit)) {
          throw limit
              .place()
              .mistake(
                  "it limits calls that %s limits, too, and %s: limit other paths, or remove one of them"
                      .formatted(other.plan().method(), why.get()));
        }
      }
    }
  }

  /**
   * Whether one path may match both patterns. It compares from the last segments to the first:
   * recursion would take exponential time where both have many {@code **}.
   */
  static boolean meet(String pattern, String other) {
    List<String> one = PathIndex.segments(pattern);
    List<String> two = PathIndex.segments(other);
    boolean[] after = new boolean[two.size() + 1]; // by where the rest of the other begins
    for (int i = one.size(); i >= 0; i--) {
      boolean[] here = new boolean[two.size() + 1];
      for (int j = two.size(); j >= 0; j--) {
        boolean left = i < one.size();
        boolean right = j < two.size();
        if ((left && one.get(i).equals("**")) || (right && two.get(j).equals("**"))) {
          here[j] = (left && after[j]) || (right && here[j + 1]);
        } else if (left && right) {
          here[j] = after[j + 1] && segmentsMeet(one.get(i), two.get(j));
        } else {
          here[j] = !left && !right;
        }
      }
      after = here;
    }
    return after[0];
  }

  private static boolean meetAny(List<String> patterns, String path) {
    return patterns.stream().anyMatch(pattern -> meet(pattern, path));
  }

  /** Two segments with wildcards are not compared further: they may meet. */
  private static boolean segmentsMeet(String one, String other) {
    return (one.contains("*") && other.contains("*"))
        || PathMatcher.ANT.matches(one, other)
        || PathMatcher.ANT.matches(other, one);
  }

  /**
   * The plan of a request: that of its method, and those of its path, as one decision.
   *
   * @param method the plan of the method that answers; empty if it has none
   */
  Optional<LimitPlan> of(HttpRequest<?> request, Optional<LimitPlan> method) {
    List<LimitedPath> limiting = index.on(request.getMethodName(), request.getPath());
    if (limiting.isEmpty()) {
      return method;
    }
    Set<LimitPlan> plans = new LinkedHashSet<>();
    method.ifPresent(plans::add);
    limiting.forEach(limit -> plans.add(limit.plan()));
    return Optional.of(
        plans.size() == 1 ? plans.iterator().next() : stacked.get(List.copyOf(plans)));
  }
}
