// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.testing.RedisFixture;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.jacoco.agent.rt.RT;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * How many classes of ours one warm request executes, decided by Redis: what a reader who follows
 * it has to open. Interfaces and enums without code of their own do not count.
 */
@Tag("matrix")
class ClassesOfARequestTest {

  private static final int MOST_ADMITTED = 53;

  private static final int MOST_MORE_DENIED = 17;

  @Test
  void oneRequestExecutesFewOfThem() throws Exception {
    List<String> lines = run();
    Set<String> admitted = executed(lines.get(0));
    Set<String> more = executed(lines.get(1));
    more.removeAll(admitted);
    System.out.printf(
        "Classes of one request: admitted %d, denied %d more%n%s%n%s%n",
        admitted.size(), more.size(), admitted, more);

    assertThat(admitted)
        .contains("io/limiter/micronaut/http/GateFilter", "io/limiter/core/redis/RedisStore")
        .hasSizeLessThanOrEqualTo(MOST_ADMITTED);
    assertThat(more)
        .contains("io/limiter/micronaut/denial/Denial", "io/limiter/micronaut/http/DenialBytes")
        .hasSizeLessThanOrEqualTo(MOST_MORE_DENIED);
  }

  private static Set<String> executed(String line) throws IOException {
    return WarmRequests.executed(Base64.getDecoder().decode(line));
  }

  private static List<String> run() throws Exception {
    Path agent = Path.of(RT.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx256m",
                "-javaagent:" + agent + "=output=none,includes=io.limiter.*",
                "-cp",
                System.getProperty("java.class.path"),
                WarmRequests.class.getName(),
                "redis.uri=" + RedisFixture.uri(),
                "limiter.redis.key-prefix=warm:" + UUID.randomUUID().toString().substring(0, 8),
                "limiter.redis.deadline=10s",
                "limiter.deny-cache.enabled=false",
                "limiter.metrics.enabled=false") // as without Micrometer and OpenTelemetry
            .redirectError(Redirect.INHERIT)
            .start();
    try {
      String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertThat(process.waitFor(10, TimeUnit.SECONDS)).isTrue();
      List<String> lines =
          printed.lines().filter(line -> line.matches("[A-Za-z0-9+/=]{40,}")).toList();
      assertThat(lines).as(printed).hasSize(2);
      return lines;
    } finally {
      process.destroyForcibly();
    }
  }
}
