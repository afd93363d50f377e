// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import static io.limiter.core.StoreHarness.SECOND;
import static io.limiter.core.StoreHarness.rule;
import static java.util.concurrent.TimeUnit.MICROSECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.limiter.core.Charge;
import io.limiter.core.FadingCounter;
import io.limiter.core.StoreHarness;
import io.limiter.core.Subject;
import io.limiter.core.override.SubjectOverride;
import io.limiter.core.redis.ConnectionSource;
import io.limiter.core.redis.FakeRedis;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.RedisStore;
import io.limiter.core.redis.wire.DecisionScripts.RedisScript;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.Rule.LoggedRule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.rule.TokenBucketRule;
import io.limiter.core.state.Cell;
import io.limiter.core.state.CellAlgorithm;
import io.limiter.core.store.Mode;
import java.nio.charset.StandardCharsets;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Input of a caller enters a script as a key's hash or as numbers, never as a part of its text; and
 * the scripts use few functions of Redis.
 */
public class ScriptSourceTest {

  private static final Pattern DECLARED = Pattern.compile("-- luacheck: (?:read )?globals (.*)");

  /** A file, or a section of one, but not the custom algorithms. */
  private static final Pattern INCLUDED =
      Pattern.compile("--%(?!custom-algorithms)([a-z-]+)(?:\\.[a-z-]+)?\n");

  private static final Pattern SECTION =
      Pattern.compile("--%begin ([a-z-]+)\n(.*?)--%end \\1\n", Pattern.DOTALL);

  private static final Pattern STRING = Pattern.compile("'[^'\n]*'");
  private static final Pattern CONSTANTS = Pattern.compile("local ([A-Z_, ]+) = ([0-9, ]+)\\b");

  /** Where the first bytes of a value are read. */
  private static final Pattern LAST_BYTE =
      Pattern.compile("'0', (?:\\w+(?: > 0)? and '(\\d+)' or )?'(\\d+)'");

  /** Not a protected call of a function of the script. */
  private static final Pattern CALL = Pattern.compile("\\bp?call\\((?!decide\\))\\s*(.)([A-Z]*)");

  private static final Pattern FORMAT = Pattern.compile("\\b(?:un)?pack\\(\\s*(.)");

  /** Commands for overrides and shared settings alone. */
  private static final Set<String> OF_HASHES =
      Set.of("HLEN", "HGET", "HGETALL", "HSET", "HDEL", "PEXPIREAT");

  private static final LoggedRule LOGGED = SlidingWindowLogRule.of(1, SECOND);
  private static final Rule WINDOW = FixedWindowRule.of(1, SECOND);

  private static final Map<CellAlgorithm, Rule> RULES =
      Map.of(
          CellAlgorithm.SLIDING_COUNTER,
          SlidingWindowCounterRule.of(1, SECOND),
          CellAlgorithm.FIXED_WINDOW,
          WINDOW,
          CellAlgorithm.ALIGNED_WINDOW,
          FixedWindowRule.aligned(1, SECOND, ZoneOffset.UTC),
          CellAlgorithm.TOKEN_BUCKET,
          TokenBucketRule.of(1, 1, SECOND),
          CellAlgorithm.INTERVAL_BUCKET,
          TokenBucketRule.of(1, 1, SECOND).byInterval(),
          CellAlgorithm.LEAKY_BUCKET,
          LeakyBucketRule.of(1, SECOND, 1, SECOND),
          CellAlgorithm.CUSTOM,
          CustomRule.of(new FadingCounter(), 1, SECOND, 2.0));

  private static List<String> sources() {
    DecisionScripts scripts = DecisionScripts.load();
    return Stream.of(
            scripts.decide(),
            scripts.refund(),
            scripts.renew(),
            scripts.batch().orElseThrow(),
            DecisionScripts.read("overrides.lua"),
            DecisionScripts.read("shared-settings.lua"))
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
        .matches("limiter:\\{[\\w-]{22}}:r\\.[\\w-]{6}");
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

  /** The files that the scripts consist of, by name. */
  private static Map<String, String> files() {
    Map<String, String> files = new TreeMap<>();
    List.of("decide", "decide-batch", "refund", "renew", "overrides", "shared-settings")
        .forEach(script -> collect(script, files));
    filesOfAlgorithms().forEach(file -> collect(file, files));
    return files;
  }

  private static void collect(String name, Map<String, String> files) {
    String text = RedisScript.read(name + ".lua");
    if (files.put(name, text) == null) {
      INCLUDED.matcher(text).results().forEach(part -> collect(part.group(1), files));
    }
  }

  private static Set<String> filesOfAlgorithms() {
    return Stream.of(CellAlgorithm.values())
        .flatMap(algorithm -> algorithm.script().stream())
        .collect(Collectors.toSet());
  }

  private static Map<String, Long> constants(String source) {
    Map<String, Long> constants = new TreeMap<>();
    Matcher line = CONSTANTS.matcher(source);
    while (line.find()) {
      String[] names = line.group(1).split(", ");
      String[] numbers = line.group(2).split(", ");
      for (int i = 0; i < names.length; i++) {
        constants.put(names[i], Long.parseLong(numbers[i]));
      }
    }
    return constants;
  }

  @Test
  void constantsOfTheScriptsAreThoseOfTheCode() {
    Map<String, Long> expected = new TreeMap<>();
    expected.put("EXACT", 1L << 53);
    Charge charge = Charge.of("limit", Subject.global(), RuleStack.of(List.of(LOGGED)));
    expected.put("PEEK", (long) stack(LOGGED).argument(Mode.PEEK, charge)[0]);
    expected.put("ACQUIRE", (long) stack(LOGGED).argument(Mode.ACQUIRE, charge)[0]);
    expected.put("RECORD", (long) stack(LOGGED).argument(Mode.RECORD, charge)[0]);
    expected.put("OBSERVE", (long) stack(LOGGED).argument(Mode.ACQUIRE, charge.observe())[0]);

    expected.put("PLAN_HEADER", (long) EncodedStack.PREAMBLE);
    expected.put("BAN_PLAN", (long) EncodedStack.BAN_PLAN);
    expected.put("BESIDE", (long) EncodedStack.BESIDE);
    expected.put("ALONE", (long) EncodedStack.ALONE);
    expected.put("HEAD", (long) EncodedStack.HEAD);
    expected.put("LOG_HEAD", (long) EncodedLog.HEAD);
    expected.put("GAP_LENGTH_UNIT", 1L << Cell.GAP_BITS);
    expected.put("GAP_FIRST_UNIT", 1L << (2 * Cell.GAP_BITS));
    expected.put("MAX_WAIT", MICROSECONDS.convert(LeakyBucketRule.MAX_WAIT));
    expected.put("MAX_DEPARTURES", (long) LeakyBucketRule.MAX_DEPARTURES);
    expected.put("MAX_QUEUE", (long) LeakyBucketRule.MAX_QUEUE);

    expected.put("MAX_OVERRIDES", (long) SubjectOverride.MAX_OVERRIDES);

    Map<String, Long> constants = constants(RedisScript.read("constants.lua"));
    long exactSizeUnits = constants.remove("EXACT_SIZE_UNITS");
    long page = constants.remove("PAGE");
    long firstRead = constants.remove("FIRST_READ");
    assertThat(constants.remove("LONGEST_LIFE"))
        .as("a ban and the time for which it grows, a sixteenth longer")
        .isGreaterThan(2 * MICROSECONDS.convert(Rule.MAX_WINDOW) * 17 / 16);
    assertThat(constants.remove("MAX_FIELDS")).isGreaterThan(SubjectOverride.MAX_OVERRIDES);
    assertThat(constants).isEqualTo(expected);
    assertThat(all(LAST_BYTE, 1).stream().filter(Objects::nonNull)).containsOnly(text(firstRead));
    assertThat(all(LAST_BYTE, 2)).containsOnly(text(page));
    assertThat(expected.get("LOG_HEAD") + 4 * RuleStack.MAX_RULES + 8 * exactSizeUnits)
        .as("a page")
        .isLessThan(page);
  }

  /** A script finds the branch of a rule by its number, and the next rule by its length. */
  @Test
  void plansHaveTheNumbersAndLengthsOfTheScripts() {
    assertThat(RULES).containsOnlyKeys(CellAlgorithm.values());
    RULES.forEach(
        (algorithm, rule) -> {
          byte[] code = code(rule);
          assertThat(code[0]).as("%s", algorithm).isEqualTo((byte) algorithm.number());
          assertThat(code[1]).as("%s", algorithm).isEqualTo((byte) Cell.unused(rule).size());
          assertThat(code[2]).as("%s", algorithm).isEqualTo((byte) code.length);
          if (algorithm.script().isPresent()) {
            assertThat(algorithm.number()).isLessThan(CellAlgorithm.CUSTOM.number());
          }
        });
    assertThat(RULES.keySet().stream().map(CellAlgorithm::number)).doesNotHaveDuplicates();
  }

  /** A section of another name would be left out. */
  @Test
  void anAlgorithmDecidesAndGivesBack() {
    for (String file : filesOfAlgorithms()) {
      assertThat(SECTION.matcher(RedisScript.read(file + ".lua")).results())
          .as(file)
          .extracting(section -> section.group(1))
          .startsWith("decide", "give-back");
    }
  }

  private static String section(String file, String name) {
    return SECTION
        .matcher(RedisScript.read(file + ".lua"))
        .results()
        .filter(section -> section.group(1).equals(name))
        .findFirst()
        .orElseThrow()
        .group(2);
  }

  /** A script has numbers for these names, and must not define others of the same name. */
  @Test
  void noNameOfAConstantIsLeft() {
    Set<String> names = new TreeSet<>(constants(RedisScript.read("constants.lua")).keySet());
    Stream.of(CellAlgorithm.values()).map(Enum::name).forEach(names::add);
    assertThat(sources())
        .allSatisfy(
            source ->
                assertThat(names)
                    .allSatisfy(
                        name -> assertThat(source).doesNotContainPattern("\\b" + name + "\\b")));
    files()
        .values()
        .forEach(
            file ->
                assertThat(STRING.matcher(file.replaceAll("--.*", "")).results())
                    .noneMatch(string -> names.contains(string.group().replace("'", ""))));
  }

  private static EncodedStack stack(Rule rule) {
    return new EncodedStack(RuleStack.of(List.of(rule)), List.of(), () -> 0);
  }

  private static byte[] code(Rule rule) {
    return new EncodedCells(List.of(rule), List.of(new FadingCounter())).codes(0);
  }

  /** The last of so many bytes. */
  private static String text(long length) {
    return Long.toString(length - 1);
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.US_ASCII);
  }

  /** So luacheck finds a part that uses what it does not declare; see .luacheckrc. */
  @Test
  void eachPartDeclaresTheLocalsOfOthersThatItUses() {
    Map<String, String> parts = files();
    assertThat(parts).hasSize(16);
    parts.forEach(
        (name, text) -> {
          String code =
              text.lines()
                  .map(line -> line.replaceFirst("--.*", ""))
                  .map(line -> STRING.matcher(line).replaceAll("''"))
                  .collect(Collectors.joining("\n"));
          List<String> declared =
              DECLARED
                  .matcher(text)
                  .results()
                  .flatMap(line -> Stream.of(line.group(1).split(" ")))
                  .toList();
          assertThat(declared)
              .as(name)
              .doesNotHaveDuplicates()
              .allSatisfy(
                  local -> assertThat(code).containsPattern("(?<![.\\w])%s\\b".formatted(local)));
          if (!name.equals("constants")) {
            assertThat(declared).as(name).isNotEmpty();
          }
        });
  }

  /** Else leaving out comments would have cut a string. */
  @Test
  void eachStringOfAScriptIsInOneLineAndHasNoHyphensInARow() {
    assertThat(sources())
        .flatMap(source -> source.lines().toList())
        .allSatisfy(
            line ->
                assertThat(STRING.matcher(line).replaceAll(""))
                    .doesNotContain("'", "\"", "[[", "--"));
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

  /** The commands of the scripts that decide, give back and lift bans. */
  public static List<String> commands() {
    return all(CALL, 2).stream()
        .distinct()
        .filter(command -> !OF_HASHES.contains(command))
        .toList();
  }

  @Test
  void onlyTheseCommandsAreRunAndEachByItsName() {
    assertThat(all(CALL, 1)).containsOnly("'");
    assertThat(commands())
        .containsOnly("TIME", "GET", "GETRANGE", "STRLEN", "SET", "SETRANGE", "PEXPIRE", "DEL");
    assertThat(all(CALL, 2)).containsAll(OF_HASHES);
  }
}
