// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.limiter.core.testing.RedisFixture;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Each mode runs to its end and reports what it should; its measurements here are meaningless. */
@Tag("matrix")
class ModesTest {

  @TempDir Path directory;

  private String run(String mode) throws Exception {
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    Benchmarks.run(
        List.of(
            mode,
            "--quick",
            "--redis",
            RedisFixture.uri(),
            "--json",
            directory.resolve(mode + ".json").toString(),
            "--plots",
            directory.toString()),
        new PrintStream(printed, true, UTF_8));
    assertThat(directory.resolve(mode + ".json")).isNotEmptyFile();
    return printed.toString(UTF_8);
  }

  @Test
  void theEngineIsMeasuredBesideItsPeersAndLeavesNoKeys() throws Exception {
    String printed = run("engine");

    assertThat(printed)
        .contains("### Decisions a second", "| PING |", "| log, 2 rules |")
        .contains("### Ours beside others", "| Bucket4j, ", "| RateLimitJ, ", "| Redisson, ")
        .contains("### What a decision takes of Redis", "### What another rule takes of Redis")
        .contains("### Redis CPU as the count grows", "### Redis CPU as subjects grow")
        .contains("### What a subject takes of Redis' memory");
    assertThat(directory.resolve("engine-rates.svg")).isNotEmptyFile();
    assertThat(directory.resolve("growth-count.svg")).isNotEmptyFile();
    try (RedisClient client = RedisClient.create(RedisFixture.uri());
        StatefulRedisConnection<String, String> redis = client.connect()) {
      assertThat(redis.sync().keys("*bench:*")).isEmpty();
    }
  }

  @Test
  void decisionsThatShareACommandAreMeasuredBesideThoseThatDoNot() throws Exception {
    assertThat(run("batch"))
        .contains("### Decisions that share a command: log, 2 rules", "| 16, each a command |")
        .contains("| 16, shared |", "### One call at a time", "| batch size 16 |");
  }

  @Test
  void decisionsByLeasesAreMeasuredBesideThoseOfRedisAndNeverGoOverTheCount() throws Exception {
    assertThat(run("hot"))
        .contains("### One subject, nothing denied", "| fixed window, leased |", "Zipf")
        .contains("### One subject, up to the count", "| log, leased, 10,000 |")
        .contains("### One subject, 3 processes", "| token bucket, 5,000,000, leased |")
        .contains("### One decision, one thread", "| a decision by a lease |")
        .doesNotContain("≤ 0: missed");
  }

  @Test
  void limitsOnManyPathsAreMeasured() throws Exception {
    assertThat(run("routes"))
        .contains("### Finding the limits of a path", "| 100, distinct |", "| 100, each /**/x |")
        .contains("### Start of a service with 100 policies, each with a route");
  }

  @Test
  void leasesOfManyInstancesAreSimulated() throws Exception {
    assertThat(run("leases"))
        .contains("### One subject, by instances", "### 1,000,000 subjects, by instances")
        .contains("### A count that is reached, by rule", "| token bucket |");
  }

  @Test
  void limitsOfCallsInFlightAreSimulated() throws Exception {
    assertThat(run("overload"))
        .contains("### Goodput under overload", "| ten times |", "| limiter-overload |")
        .contains("### Rejected without overload", "### Recovery of the dependency")
        .contains("### Limit over 24 hours of steady load", "### What a request costs")
        .contains("### A real service", "| 10.0 of the capacity |", "| twice, without");
  }

  @Test
  void theStoreInMemoryIsMeasuredBesideItsPeers() throws Exception {
    assertThat(run("memory"))
        .contains("### Decisions in memory, all admitted, 1 subject, 1 thread")
        .contains("| limiter, log, 2 rules |", "| Bucket4j, ", "| Resilience4j, ")
        .contains("### What a decision over Redis takes in this process")
        .contains("### What parts of a request take", "| the state key of an address |");
    assertThat(Files.readString(directory.resolve("memory.json"))).contains("bytes a decision");
  }

  @Test
  void thePlannerCountsWhatAwkCounts() throws Exception {
    assertThat(run("planner"))
        .contains("### 20000 lines, of up to 300,000 addresses", "| planner, 60/1m |")
        .contains("### 20000 lines, each of another address", "| wc -l |");
  }
}
