// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.testing.RedisFixture;
import io.limiter.core.testing.RedisProcess;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The first admitted call, the first 429 and the first 409 load no class on an event loop: of ours,
 * of Lettuce, of the serializer, or that {@code invokedynamic} spins for them. What Micronaut,
 * Netty and the JDK load for their own first request is theirs.
 */
@Tag("matrix")
class FirstCallsTest {

  private static final List<String> COUNTED =
      List.of(
          "io.limiter.",
          "io.lettuce.",
          "com.fasterxml.jackson.",
          "io.micronaut.json.",
          "io.micronaut.jackson.",
          "io.micronaut.serde.");

  /** An attempt to connect may take too long on a busy machine: there is nothing to see then. */
  private static final int MAX_TRIES = 5;

  @Test
  void noneIsLoadedWhereRedisDecides() throws Exception {
    assertThat(counted(onRedis())).isEmpty();
  }

  @Test
  void noneIsLoadedOnASharedConnection() throws Exception {
    assertThat(counted(onRedis("limiter.redis.connections=shared"))).isEmpty();
  }

  @Test
  void noneIsLoadedWhereMemoryDecides() throws Exception {
    assertThat(counted(loaded())).isEmpty();
  }

  @Test
  void noneIsLoadedWhereTheBodyIsAProblem() throws Exception {
    assertThat(counted(onRedis("limiter.denial.body=problem"))).isEmpty();
  }

  @Test
  void noneIsLoadedWhereRedisIsDown() throws Exception {
    try (RedisProcess down = RedisProcess.onFreePort()) {
      assertThat(counted(loaded("redis.uri=" + down.uri(), FirstCallsProcess.DOWN + "=true")))
          .isEmpty();
    }
  }

  /** So the count is of something. */
  @Test
  void withoutWarmUpTheyAreLoaded() throws Exception {
    List<String> loaded = counted(loaded("limiter.redis.warm-up=0s"));

    for (String call : List.of("admitted", "denied")) {
      assertThat(loaded).anyMatch(line -> line.startsWith(call + "\tio.limiter."));
    }
    assertThat(loaded).anyMatch(line -> line.startsWith("denied\tcom.fasterxml."));
  }

  private static List<String> counted(List<String> loaded) {
    return loaded.stream().filter(FirstCallsTest::isCounted).toList();
  }

  private static boolean isCounted(String line) {
    String[] parts = line.split("\t", -1);
    boolean spun =
        parts[1].startsWith("java.lang.invoke.LambdaForm$") || parts[1].contains("$Species_");
    return (spun && !parts[2].isEmpty()) || COUNTED.stream().anyMatch(parts[1]::startsWith);
  }

  private static List<String> onRedis(String... settings) throws Exception {
    List<String> all = new ArrayList<>(List.of(settings));
    all.add("redis.uri=" + RedisFixture.uri());
    all.add("limiter.redis.key-prefix=first-calls:" + UUID.randomUUID().toString().substring(0, 8));
    all.add("limiter.redis.warm-up=30s");
    all.add("limiter.redis.deadline=10s");
    return loaded(all.toArray(String[]::new));
  }

  private static List<String> loaded(String... settings) throws Exception {
    List<String> lines = List.of();
    for (int i = 0; i < MAX_TRIES && !lines.contains(FirstCallsProcess.DONE); i++) {
      lines = run(settings);
    }
    assertThat(lines).contains(FirstCallsProcess.DONE);
    return lines.stream().filter(line -> line.indexOf('\t') > 0).toList();
  }

  private static List<String> run(String... settings) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
    command.add("-cp");
    command.add(System.getProperty("java.class.path"));
    command.add(FirstCallsProcess.class.getName());
    command.addAll(List.of(settings));
    Process process = new ProcessBuilder(command).redirectError(Redirect.INHERIT).start();
    try {
      String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertThat(process.waitFor(10, TimeUnit.SECONDS)).isTrue();
      return output.lines().toList();
    } finally {
      process.destroyForcibly();
    }
  }
}
