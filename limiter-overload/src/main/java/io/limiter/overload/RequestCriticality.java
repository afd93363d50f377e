// SPDX-License-Identifier: Apache-2.0
package io.limiter.overload;

import io.limiter.micronaut.address.TrustedProxies;
import io.limiter.micronaut.plan.PathIndex;
import io.limiter.micronaut.subject.CallerLists;
import io.limiter.overload.Criticality.Level;
import io.limiter.overload.OverloadConfiguration.Paths;
import io.micronaut.core.annotation.AnnotationMetadata;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.server.HttpServerConfiguration;
import io.micronaut.web.router.RouteAttributes;
import io.micronaut.web.router.RouteInfo;
import io.micronaut.web.router.RouteMatch;
import jakarta.inject.Singleton;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * How critical a request is: by the header of a trusted caller, else by its path, else by the
 * annotation of its route.
 */
@Singleton
final class RequestCriticality {

  /** Micronaut's management module is optional. */
  private static final String ENDPOINT = "io.micronaut.management.endpoint.annotation.Endpoint";

  private final OverloadConfiguration settings;
  private final TrustedProxies trusted;
  private final CallerLists callers;
  private final List<OnPath> paths;
  private final PathIndex<OnPath> index;

  /** By route: there are as many as routes. */
  private final Map<RouteInfo<?>, Stated> routes = new ConcurrentHashMap<>();

  /**
   * What is stated for some paths.
   *
   * @param level null if they are exempt
   */
  private record OnPath(List<String> patterns, @Nullable Level level) implements PathIndex.OnPath {
    @Override
    public Set<String> methods() {
      return Set.of();
    }
  }

  /**
   * What a route states.
   *
   * @param level null if it is exempt
   */
  private record Stated(@Nullable Level level) {}

  RequestCriticality(
      OverloadConfiguration settings,
      Paths paths,
      CallerLists callers,
      HttpServerConfiguration server) {
    this.settings = settings;
    this.trusted = settings.networks();
    this.callers = callers;
    String written = server.getContextPath();
    String context = written == null || written.equals("/") ? "" : written;
    this.paths = new ArrayList<>();
    add(paths.exempt(), null, context);
    for (Level level : Level.values()) {
      add(paths.of().getOrDefault(level, List.of()), level, context);
    }
    this.index = new PathIndex<>(this.paths);
  }

  private void add(List<String> patterns, @Nullable Level level, String context) {
    for (String path : patterns) {
      paths.add(new OnPath(PathIndex.patterns(path, context), level));
    }
  }

  /** The criticality of a request; null if it is neither counted nor rejected. */
  @Nullable Level of(HttpRequest<?> request) {
    Stated route = route(request);
    if (route.level() == null) {
      return null;
    }
    Stated stated = route;
    if (!paths.isEmpty()) {
      List<OnPath> holding = index.on(request.getMethodName(), request.getPath());
      if (!holding.isEmpty()) {
        stated = new Stated(holding.get(0).level());
        if (stated.level() == null) {
          return null;
        }
      }
    }
    Level asked = trusted.isEmpty() ? null : ofHeader(request);
    return asked == null ? stated.level() : asked;
  }

  private @Nullable Level ofHeader(HttpRequest<?> request) {
    String written = request.getHeaders().get(settings.header());
    if (written == null || !callers.names(trusted, "", request)) {
      return null;
    }
    String word = written.strip();
    return Stream.of(Level.values())
        .filter(level -> SettingsCheck.word(level).equalsIgnoreCase(word))
        .findFirst()
        .orElse(null);
  }

  private Stated route(HttpRequest<?> request) {
    RouteMatch<?> match = RouteAttributes.getRouteMatch(request).orElse(null);
    if (match == null) {
      return new Stated(settings.criticality());
    }
    RouteInfo<?> info = match.getRouteInfo();
    Stated known = routes.get(info);
    if (known == null) {
      AnnotationMetadata annotations = match.getAnnotationMetadata();
      known =
          new Stated(
              annotations.hasStereotype(ENDPOINT)
                  ? null
                  : annotations
                      .enumValue(Criticality.class, Level.class)
                      .orElse(settings.criticality()));
      routes.put(info, known);
    }
    return known;
  }
}
