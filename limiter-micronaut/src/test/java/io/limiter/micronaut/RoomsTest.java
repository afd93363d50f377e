// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut;

import static java.util.Map.entry;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.testing.Rooms;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Packages and modules that the rest does not know: Micronaut finds them as beans. */
class RoomsTest {

  private static final Path ROOT = Path.of("..");

  private static final List<String> MODULES =
      List.of(
          "limiter-core",
          "limiter-micronaut",
          "limiter-idempotency",
          "limiter-client",
          "limiter-management",
          "limiter-planner",
          "limiter-overload",
          "limiter-processor",
          "limiter-test");

  @Test
  void onlyTheseKnowARoom() {
    Rooms.requireKnownTo(
        Map.ofEntries(
            unknown("io.limiter.disabled"),
            unknown("io.limiter.security"),
            unknown("io.limiter.micronaut.denycache"),
            unknown("io.limiter.micronaut.diagnostics"),
            unknown("io.limiter.micronaut.event"),
            unknown("io.limiter.micronaut.health"),
            unknown("io.limiter.micronaut.http.DirectDenials"),
            unknown("io.limiter.micronaut.lease"),
            unknown("io.limiter.micronaut.metadata"),
            unknown("io.limiter.micronaut.metrics"),
            unknown("io.limiter.micronaut.outage"),
            unknown("io.limiter.micronaut.recorder"),
            unknown("io.limiter.micronaut.redis.StartWithRedis"),
            unknown("io.limiter.micronaut.refresh"),
            unknown("io.limiter.micronaut.stream"),
            // It waits for the first reading.
            entry(
                "io.limiter.micronaut.redis.SharedSettings",
                Set.of("io.limiter.micronaut.redis.StartWithRedis")),
            entry(
                "io.limiter.core.denycache",
                Set.of(
                    "io.limiter.micronaut.denycache.DenyCacheConfiguration",
                    "io.limiter.micronaut.denycache.DenyCacheLayer")),
            entry("io.limiter.core.lease", Set.of("io.limiter.micronaut.lease.LeaseLayer")),
            entry("io.limiter.core.outage", Set.of("io.limiter.micronaut.outage.OutageLayer")),
            // It chooses the client, by whether Redis is a cluster.
            entry(
                "io.limiter.core.redis.cluster",
                Set.of("io.limiter.micronaut.redis.RedisConnections"))),
        "io.limiter.core",
        "io.limiter.micronaut",
        "io.limiter.disabled",
        "io.limiter.security");
  }

  private static Map.Entry<String, Set<String>> unknown(String room) {
    return entry(room, Set.of());
  }

  /** An optional module; a text may name it. */
  @ParameterizedTest
  @ValueSource(
      strings = {"client", "idempotency", "management", "overload", "planner", "processor", "test"})
  void noOtherModuleImports(String room) throws IOException {
    Pattern use =
        Pattern.compile(
            "^import (static )?io\\.limiter\\.(disabled\\.)?" + room + "\\b.*", Pattern.MULTILINE);
    int read = 0;
    for (String module : MODULES) {
      if (module.equals("limiter-" + room)) {
        continue;
      }
      try (Stream<Path> files = Files.walk(ROOT.resolve(module).resolve("src/main/java"))) {
        for (Path file : files.filter(some -> some.toString().endsWith(".java")).toList()) {
          assertThat(Files.readString(file)).as("%s", file).doesNotContainPattern(use);
          read++;
        }
      }
    }
    assertThat(read).isGreaterThan(300);
  }
}
