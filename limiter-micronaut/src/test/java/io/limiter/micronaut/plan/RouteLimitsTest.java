// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.config.LimitSettings.Route;
import io.limiter.micronaut.definition.Origin;
import io.limiter.micronaut.plan.RouteLimits.LimitedPath;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Whether two patterns may match one path, and which limits a path has. */
class RouteLimitsTest {

  private static final List<String> SEGMENTS =
      List.of("a", "b", "ab", "a.js", "*", "**", "*.js", "a*", "?", "a?", "");
  private static final List<String> OF_PATHS =
      List.of("a", "b", "ab", "a.js", "*", "**", "", ".", "..", "%61", "%2F", "%2e", "%20", "b%");

  @ParameterizedTest
  @CsvSource({
    "/, /, true",
    "/, /**, true",
    "/, /a, false",
    "/a, /a, true",
    "/a, /b, false",
    "/a, /a/b, false",
    "/a/*, /a/b, true",
    "/a/*, /a/b/c, false",
    "/a/*.js, /a/*.css, true", // not compared further
    "/a/*.js, /a/b.css, false",
    "/a/**, /a, true",
    "/a/**, /b/**, false",
    "/**/b, /a/**, true",
    "/a/**/d, /a/b/c/d, true",
    "/a/**/d, /a/b/c, false",
    "/**/a/**/b, /**/b/**/a, false",
    "/**/a/**, /b/**/c, true"
  })
  void twoPatternsMeet(String one, String other, boolean expected) {
    assertThat(RouteLimits.meet(one, other)).isEqualTo(expected);
    assertThat(RouteLimits.meet(other, one)).isEqualTo(expected);
  }

  @Test
  void manyWildcardsCostNoExponentialTime() {
    assertThat(RouteLimits.meet("/**/a".repeat(60) + "/x", "/**/b".repeat(60) + "/y")).isFalse();
  }

  @Test
  void aPathHasTheLimitsThatComparingEachPatternFinds() {
    Random random = new Random(63);
    int matched = 0;
    for (int round = 0; round < 2_000; round++) {
      List<LimitedPath> limits = new ArrayList<>();
      int size = random.nextInt(12);
      for (int i = 0; i < size; i++) {
        limits.add(limit(random, random.nextInt(3) == 0 ? "/b" : ""));
      }
      PathIndex<LimitedPath> routes = new PathIndex<>(limits);
      for (int i = 0; i < 20; i++) {
        String path = path(random, OF_PATHS);
        String method = random.nextBoolean() ? "GET" : "POST";
        String raw =
            path.length() > 1 && path.endsWith("/") ? path.substring(0, path.length() - 1) : path;
        List<LimitedPath> expected =
            limits.stream()
                .filter(limit -> limit.holds(method, raw, PathIndex.plain(raw)))
                .toList();
        assertThat(routes.on(method, path))
            .as("%s %s of %s", method, path, limits)
            .isEqualTo(expected);
        matched += expected.size();
      }
    }
    assertThat(matched).isGreaterThan(20_000);
  }

  @Test
  void patternsThatMeetAreFoundByTheirSegments() {
    Random random = new Random(63);
    int met = 0;
    for (int round = 0; round < 20_000; round++) {
      LimitedPath one = limit(random, "");
      LimitedPath other = limit(random, random.nextInt(3) == 0 ? "/b" : "");
      PathIndex.Branch index = new PathIndex.Branch();
      index.add(7, one.patterns());
      Set<Integer> found = new TreeSet<>();
      other.patterns().forEach(pattern -> index.find(PathIndex.segments(pattern), 0, true, found));
      boolean meet =
          one.patterns().stream()
              .anyMatch(
                  mine -> other.patterns().stream().anyMatch(its -> RouteLimits.meet(mine, its)));
      assertThat(found.contains(7) || !meet).as("%s and %s", one, other).isTrue();
      met += meet ? 1 : 0;
    }
    assertThat(met).isGreaterThan(2_000);
  }

  @Test
  void ofManyLimitsOnlyThoseThatBeginLikeThePathAreCompared() {
    PathIndex.Branch index = new PathIndex.Branch();
    for (int i = 0; i < 10_000; i++) {
      index.add(i, List.of("/shops/*/shop-" + i + "/**"));
    }
    for (String path :
        List.of("/shops/x/shop-77/orders", "/shops/x/shop-77", "/shops/**/shop-77")) {
      Set<Integer> found = new TreeSet<>();
      index.find(PathIndex.segments(path), 0, false, found);
      assertThat(found).as(path).containsExactly(77);
    }
    Set<Integer> found = new TreeSet<>();
    index.find(PathIndex.segments("/shops/eu/shop-9/*"), 0, true, found);
    assertThat(found).containsExactly(9);
  }

  private static LimitedPath limit(Random random, String contextPath) {
    String except = random.nextInt(3) == 0 ? path(random, SEGMENTS) : "";
    return limit(
        path(random, SEGMENTS),
        except.isEmpty() ? Set.of() : Set.of(except),
        contextPath,
        random.nextInt(3) == 0 ? Set.of("GET", "HEAD") : Set.of());
  }

  private static LimitedPath limit(String path, Set<String> except, String contextPath) {
    return limit(path, except, contextPath, Set.of());
  }

  @SuppressWarnings("NullAway") // the plan is not looked at
  private static LimitedPath limit(
      String path, Set<String> except, String contextPath, Set<String> methods) {
    Origin written = new Origin("limiter.routes[0].path", path, "application.yml");
    return new LimitedPath(
        new Route(
            written,
            except.stream().map(open -> new Origin("except", open, "application.yml")).toList(),
            methods,
            written),
        null,
        contextPath);
  }

  private static String path(Random random, List<String> segments) {
    StringBuilder path = new StringBuilder();
    int size = random.nextInt(5);
    for (int i = 0; i < size; i++) {
      path.append('/').append(segments.get(random.nextInt(segments.size())));
    }
    return path.isEmpty() || random.nextInt(4) == 0 ? path.append('/').toString() : path.toString();
  }
}
