// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import static io.limiter.core.StoreHarness.SECOND;
import static io.limiter.core.StoreHarness.rule;
import static java.util.concurrent.TimeUnit.MICROSECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Mode;
import io.limiter.core.StoreHarness;
import io.limiter.core.redis.FakeRedis;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.RedisStore;
import io.limiter.core.redis.wire.DecisionScripts.RedisScript;
import io.limiter.core.rule.LeakyBucketRule;
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

  /** Not a protected call of a function of the script. */
  private static final Pattern CALL = Pattern.compile("\\bp?call\\((?!decide\\))\\s*(.)([A-Z]*)");

  private static final Pattern FORMAT = Pattern.compile("\\b(?:un)?pack\\(\\s*(.)");

  private static List<String> sources() {
    DecisionScripts scripts = DecisionScripts.load();
    return Stream.of(
            scripts.decide(),
            scripts.refund(),
            scripts.renew(),
            scripts.batch().orElseThrow(),
            scripts.hold())
        .map(RedisScript::text)
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
    try (RedisStore store = new RedisStore(redis.source(() -> {}), RedisSettings.defaults())) {
      var unused = store.decide(StoreHarness.call(evil, rule(1, SECOND)), Mode.ACQUIRE);
      var unusedOther = store.decide(StoreHarness.call("ada", rule(1, SECOND)), Mode.ACQUIRE);
    }

    assertThat(redis.sent(0).script())
        .isEqualTo(redis.sent(1).script())
        .isEqualTo(DecisionScripts.load().decide().sha());
    assertThat(redis.sent(0).arguments()).isEqualTo(redis.sent(1).arguments());
    assertThat(new String(((byte[][]) redis.sent(0).keys())[0], StandardCharsets.ISO_8859_1))
        .matches("limiter:\\{[\\w-]{22}}:r\\.[\\w-]{6}");
  }

  /** Only values that other software wrote come to these bounds, so no other test reaches them. */
  @Test
  void theBoundsOfAQueueAreThoseOfItsRule() {
    assertThat(RedisScript.read("constants.lua"))
        .contains(
            "local MAX_WAIT, MAX_DEPARTURES, MAX_QUEUE = %s, %s, %s"
                .formatted(
                    MICROSECONDS.convert(LeakyBucketRule.MAX_WAIT),
                    LeakyBucketRule.MAX_DEPARTURES,
                    LeakyBucketRule.MAX_QUEUE));
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

  /** The commands of the scripts that decide, give back, lift bans and keep answers. */
  public static List<String> commands() {
    return all(CALL, 2).stream().distinct().toList();
  }

  @Test
  void onlyTheseCommandsAreRunAndEachByItsName() {
    assertThat(all(CALL, 1)).containsOnly("'");
    assertThat(commands())
        .containsOnly(
            "TIME", "GET", "GETRANGE", "STRLEN", "SET", "SETRANGE", "PEXPIRE", "PTTL", "DEL");
  }
}
