// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import static io.limiter.core.StoreHarness.SECOND;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.limiter.core.StoreHarness;
import io.limiter.core.redis.FakeRedis;
import io.limiter.core.redis.RedisStore;
import io.limiter.core.redis.connection.ConnectionSource;
import io.limiter.core.redis.connection.RedisSettings;
import io.limiter.core.rule.LeakyBucket;
import io.limiter.core.rule.Micros;
import io.limiter.core.rule.Rule;
import io.limiter.core.state.Cell;
import io.limiter.core.store.Mode;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Input of a caller enters a script as a key's hash or as numbers, never as a part of its text; and
 * the scripts use few functions of Redis.
 */
public class ScriptSourceTest {

  private static final Pattern COMMENT = Pattern.compile("--[^\n]*");
  private static final Pattern CALL = Pattern.compile("\\bp?call\\(\\s*(.)([A-Z]*)");
  private static final Pattern FORMAT = Pattern.compile("\\b(?:un)?pack\\(\\s*(.)");

  private static List<String> sources() {
    DecisionScripts scripts = DecisionScripts.load();
    return Stream.of(scripts.decide(), scripts.refund(), scripts.renew())
        .map(script -> COMMENT.matcher(script.text()).replaceAll(""))
        .toList();
  }

  private static List<String> all(Pattern pattern, int group) {
    List<String> found = new ArrayList<>();
    for (String source : sources()) {
      Matcher matcher = pattern.matcher(source);
      while (matcher.find()) {
        found.add(matcher.group(group));
      }
    }
    return found;
  }

  @ParameterizedTest
  @ValueSource(strings = {"') redis.call('FLUSHALL') --", "]]", "\0", "} {x}", "\r\nFLUSHALL\r\n"})
  void theScriptIsTheSameForEachSubjectWhoseNameIsNowhereInTheCall(String evil) {
    FakeRedis redis = new FakeRedis();
    ConnectionSource connections =
        new ConnectionSource() {
          @Override
          public RedisClusterAsyncCommands<byte[], byte[]> commands() {
            return redis.commands();
          }

          @Override
          public void close() {}
        };
    try (RedisStore store = new RedisStore(connections, RedisSettings.defaults())) {
      var unused = store.decide(StoreHarness.call(evil, rule(1, SECOND)), Mode.ACQUIRE);
      var unusedOther = store.decide(StoreHarness.call("ada", rule(1, SECOND)), Mode.ACQUIRE);
    }

    assertThat(redis.sent(0).script())
        .isEqualTo(redis.sent(1).script())
        .isEqualTo(DecisionScripts.load().decide().sha());
    assertThat(redis.sent(0).arguments()).isEqualTo(redis.sent(1).arguments());
    assertThat(new String(((byte[][]) redis.sent(0).keys())[0], StandardCharsets.ISO_8859_1))
        .matches("limiter:\\{[\\w-]{22}}:r");
  }

  /** Each is defined twice, in Lua and in Java. */
  @Test
  void theStatusesOfAReplyAreThoseThatAreRead() {
    assertThat(sources().get(0))
        .contains(
            "local ADMITTED, LIMITED, BANNED = '%c', '%c', '%c'"
                .formatted(DecideReply.ADMITTED, DecideReply.LIMITED, DecideReply.BANNED));
    assertThat(List.of(DecideReply.ADMITTED, DecideReply.LIMITED, DecideReply.BANNED))
        .doesNotHaveDuplicates();
  }

  @Test
  void numbersThatScriptsShareAreThoseOfTheCode() {
    String constants = RedisScript.read("constants.lua");
    assertThat(constants)
        .contains("EXACT = %d ".formatted(1L << 53))
        .contains("LONGEST = %d ".formatted(Micros.of(Rule.MAX_WINDOW)))
        .contains("CELLS = %d ".formatted(Integer.toUnsignedLong(CellPlan.CELLS)))
        .contains("SECONDS = %d ".formatted(1L << Cell.MOST_EXPONENT))
        .contains("MOST_CELLS, MOST_BYTES = %d, %d ".formatted(Cell.MOST_CELLS, Cell.MOST_BYTES))
        .contains("BAN, DATA = %d, %d ".formatted(CellCode.BAN, CellCode.DATA));
    assertThat(sources().get(0))
        .contains(
            "WAIT, DEPARTURES, QUEUE = %d, %d, %d"
                .formatted(
                    Micros.of(LeakyBucket.MAX_WAIT),
                    LeakyBucket.MAX_DEPARTURES,
                    LeakyBucket.MAX_QUEUE));
  }

  @Test
  void libraryFunctionsThatHadHolesAreNotUsed() {
    assertThat(sources())
        .allSatisfy(
            source ->
                assertThat(source)
                    .doesNotContain("cjson", "cmsgpack", "bit.", "load", "dofile", "setmetatable")
                    .doesNotContain("_G", "getfenv", "setfenv", "rawset"));
  }

  /** Input cannot choose how bytes are read. */
  @Test
  void howBytesAreReadIsWrittenInTheScript() {
    assertThat(all(FORMAT, 1)).hasSizeGreaterThan(50).containsOnly("'");
  }

  /** The commands that the scripts run. */
  public static List<String> commands() {
    return all(CALL, 2).stream().distinct().toList();
  }

  @Test
  void onlyTheseCommandsAreRunAndEachByItsName() {
    assertThat(all(CALL, 1)).containsOnly("'");
    assertThat(commands())
        .containsOnly(
            "TIME", "GET", "GETRANGE", "STRLEN", "SET", "SETRANGE", "PTTL", "PEXPIRE", "DEL");
  }
}
