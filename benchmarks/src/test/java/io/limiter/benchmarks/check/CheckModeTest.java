// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.check;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.limiter.benchmarks.Benchmarks;
import io.limiter.benchmarks.Mode;
import io.limiter.core.testing.RedisProcess;
import io.limiter.core.testing.TypedCommand;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Each step of the check has its own row, with the remedy where the server refuses it. */
class CheckModeTest {

  private static final int SLOTS = 16_384;

  private final ByteArrayOutputStream printed = new ByteArrayOutputStream();

  private void check(RedisProcess redis) throws Exception {
    Benchmarks.run(List.of("check", "--redis", redis.uri()), new PrintStream(printed, true, UTF_8));
  }

  private List<String> rows(String answer) {
    return printed.toString(UTF_8).lines().filter(row -> row.contains(answer)).toList();
  }

  private static void assertNoKeys(RedisProcess redis) throws IOException {
    assertThat(TypedCommand.reply(redis.port(), "DBSIZE")).isEqualTo(":0\r\n");
  }

  @Test
  void aServerThatHasEverythingPasses() throws Exception {
    try (RedisProcess redis = RedisProcess.onFreePort().start()) {
      check(redis);

      assertThat(printed.toString(UTF_8))
          .contains("* server: " + redis.product() + ", given")
          .contains("### Commands", "| EVALSHA | yes |", "| SET KEEPTTL in a script | yes |")
          .contains("### The limiter, by redis.uri\n", "| a decision | yes |", "| health | yes |")
          .contains("| time of a decision | yes: median ");
      assertThat(rows("| no: "))
          .allMatch(row -> row.contains("CLUSTER NODES") || row.contains("CLIENT SETINFO"));
      assertNoKeys(redis);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"CLIENT", "EVAL", "INFO", "SCAN", "SCRIPT"})
  void theLimiterDecidesWithoutACommandThatItCanDoWithout(String command) throws Exception {
    try (RedisProcess redis = RedisProcess.onFreePort().start()) {
      assertThat(TypedCommand.reply(redis.port(), "ACL SETUSER default -" + command))
          .startsWith("+OK");
      check(redis);

      assertThat(rows("| a decision | yes |")).hasSize(1);
      if (!command.equals("SCAN")) { // which only removes what is left
        assertThat(rows("| " + command)).anyMatch(row -> row.contains("| no: "));
        assertNoKeys(redis);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"TIME", "SETRANGE", "GETRANGE", "PEXPIRE"})
  void aCommandThatDecisionsNeedIsNamedWithTheRemedy(String command) throws Exception {
    try (RedisProcess redis = RedisProcess.onFreePort().start()) {
      assertThat(TypedCommand.reply(redis.port(), "ACL SETUSER default -" + command))
          .startsWith("+OK");

      assertThatThrownBy(() -> check(redis))
          .isInstanceOf(Mode.Failure.class)
          .hasMessageStartingWith("Steps that the limiter needs, and that do not work: ");
      assertThat(rows("| " + command + " in a script | no: "))
          .singleElement()
          .asString()
          .endsWith("| no decision: permit it in scripts |");
    }
  }

  /** Of docs/security.md; what is left expires. */
  @Test
  void aUserThatMayDoOnlyWhatTheLimiterNeedsPasses() throws Exception {
    String user =
        Files.readAllLines(Path.of("..", "docs", "security.md")).stream()
            .filter(line -> line.startsWith("ACL SETUSER limiter on "))
            .findFirst()
            .orElseThrow();
    try (RedisProcess redis = RedisProcess.onFreePort().start()) {
      assertThat(TypedCommand.reply(redis.port(), user)).startsWith("+OK");
      Benchmarks.run(
          List.of(
              "check",
              "--redis",
              "redis://limiter:a-long-password@127.0.0.1:" + redis.port(),
              "--prefix",
              "limiter:"),
          new PrintStream(printed, true, UTF_8));

      assertThat(rows("| a decision | yes |")).hasSize(1);
      assertThat(rows("| a reset | yes |")).hasSize(1);
      assertThat(printed.toString(UTF_8)).doesNotContain("a-long-password");
    }
  }

  @Test
  void withoutEvalshaNoConnectionDecides() throws Exception {
    try (RedisProcess redis = RedisProcess.onFreePort("--rename-command", "EVALSHA", "").start()) {
      assertThatThrownBy(() -> check(redis)).isInstanceOf(Mode.Failure.class);
      assertThat(rows("| EVALSHA | no: ERR unknown command")).hasSize(1);
      assertThat(rows("| a connection that has decided | no: it was not opened |")).hasSize(1);
    }
  }

  /** One node that has all slots. */
  @Test
  void aClusterIsCheckedByRedisUrisToo() throws Exception {
    try (RedisProcess redis = RedisProcess.onFreePort("--cluster-enabled", "yes").start()) {
      for (int begin = 0; begin < SLOTS; begin += SLOTS / 4) { // a typed command has a limit
        String slots =
            IntStream.range(begin, begin + SLOTS / 4)
                .mapToObj(Integer::toString)
                .collect(Collectors.joining(" "));
        assertThat(TypedCommand.reply(redis.port(), "CLUSTER ADDSLOTS " + slots)).startsWith("+OK");
      }
      await()
          .until(
              () -> TypedCommand.reply(redis.port(), "CLUSTER INFO").contains("cluster_state:ok"));

      check(redis);

      String all = printed.toString(UTF_8);
      String byUri = all.substring(all.indexOf("by redis.uri\n"), all.indexOf("by redis.uris\n"));
      assertThat(byUri).doesNotContain("| no: "); // calls are divided by slot
      assertThat(all.substring(all.indexOf("by redis.uris\n"))).doesNotContain("| no: ");
      assertNoKeys(redis);
    }
  }
}
