// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.util.BoundedCache;
import io.limiter.micronaut.config.LimitSettings.RouteSettings;
import io.micronaut.core.util.PathMatcher;
import io.micronaut.http.HttpRequest;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The limits on paths. A path is compared as the router reads it, and as a file server would: with
 * decoded characters and resolved dots, without empty segments and without the slash at the end. A
 * limit holds if either matches its pattern, so no other spelling leads past it.
 */
final class RouteLimits {

  static final RouteLimits NONE = new RouteLimits(List.of());

  /** Of a plan and what is stacked on it there is one combination for each set of patterns. */
  private static final int MAX_STACKED = 10_000;

  /** The limit on one pattern. */
  record LimitedPath(String pattern, Set<String> methods, LimitPlan plan) {

    LimitedPath(RouteSettings route, LimitPlan plan) {
      this(withoutLastSlash(route.path().value()), route.methods(), plan);
    }

    boolean holds(String method, String raw, String plain) {
      return (methods.isEmpty() || methods.contains(method))
          && (PathMatcher.ANT.matches(pattern, raw) || PathMatcher.ANT.matches(pattern, plain));
    }
  }

  private final List<LimitedPath> limits;
  private final BoundedCache<List<LimitPlan>, LimitPlan> stacked =
      new BoundedCache<>(MAX_STACKED, plans -> plans.stream().reduce(LimitPlan::and).orElseThrow());

  RouteLimits(List<LimitedPath> limits) {
    this.limits = limits;
  }

  /**
   * The plan of a request: that of its method, and those of its path, as one decision.
   *
   * @param method the plan of the method that answers; empty if it has none
   */
  Optional<LimitPlan> of(HttpRequest<?> request, Optional<LimitPlan> method) {
    String raw = withoutLastSlash(request.getPath());
    String plain = plain(raw);
    List<LimitPlan> plans = new ArrayList<>();
    method.ifPresent(plans::add);
    for (LimitedPath limit : limits) {
      if (limit.holds(request.getMethodName(), raw, plain) && !plans.contains(limit.plan())) {
        plans.add(limit.plan());
      }
    }
    if (plans.size() < 2) {
      return plans.stream().findFirst();
    }
    return Optional.of(stacked.get(List.copyOf(plans)));
  }

  private static String withoutLastSlash(String path) {
    return path.length() > 1 && path.endsWith("/") ? path.substring(0, path.length() - 1) : path;
  }

  /** A path as a file server reads it; of a segment that cannot be decoded, its raw characters. */
  static String plain(String path) {
    if (path.indexOf('%') < 0 && !path.contains("//") && !path.contains("/.")) {
      return path;
    }
    Deque<String> segments = new ArrayDeque<>();
    for (String segment : decoded(path).split("/")) {
      if (segment.equals("..")) {
        segments.pollLast();
      } else if (!segment.isEmpty() && !segment.equals(".")) {
        segments.addLast(segment);
      }
    }
    return "/" + String.join("/", segments);
  }

  private static String decoded(String path) {
    byte[] bytes = path.getBytes(StandardCharsets.UTF_8);
    ByteArrayOutputStream decoded = new ByteArrayOutputStream(bytes.length);
    for (int i = 0; i < bytes.length; i++) {
      int high = i + 2 < bytes.length ? Character.digit(bytes[i + 1], 16) : -1;
      int low = high >= 0 ? Character.digit(bytes[i + 2], 16) : -1;
      if (bytes[i] == '%' && low >= 0) {
        decoded.write(high * 16 + low);
        i += 2;
      } else {
        decoded.write(bytes[i]);
      }
    }
    return decoded.toString(StandardCharsets.UTF_8);
  }
}
