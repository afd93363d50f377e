// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.FadingCounter;
import io.limiter.core.redis.wire.DecisionScripts.RedisScript;
import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.rule.CustomRule;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The scripts as Redis gets them. They are written to target/lua, where luacheck reads them: it is
 * the assembled script that shows whether a local is used or shadows another.
 */
class AssembledScriptsTest {

  private static final Path DIRECTORY = Path.of("target", "lua");
  private static final List<CustomAlgorithm> CUSTOM =
      List.of(
          new FadingCounter(), new Scripted("return p[1], { (state and state[1] or 0) + cost }"));

  @Test
  void scriptsAreWrittenForLuacheck() throws IOException {
    write(DecisionScripts.load(), "");
    write(DecisionScripts.load(CUSTOM), "-custom");

    assertThat(DIRECTORY.resolve("decide.lua")).content().endsWith("return reply\n");
    assertThat(DIRECTORY.resolve("decide-custom.lua")).content().endsWith("return reply\n");
  }

  private static void write(DecisionScripts scripts, String suffix) throws IOException {
    Files.createDirectories(DIRECTORY);
    Map<String, RedisScript> named =
        Map.of(
            "decide",
            scripts.decide(),
            "decide-batch",
            scripts.batch().orElseThrow(),
            "hold",
            scripts.hold(),
            "refund",
            scripts.refund(),
            "renew",
            scripts.renew());
    for (Map.Entry<String, RedisScript> script : named.entrySet()) {
      Files.writeString(
          DIRECTORY.resolve(script.getKey() + suffix + ".lua"), script.getValue().text());
    }
  }

  @Test
  void commentsAndIndentationAreNotSentToRedis() {
    DecisionScripts scripts = DecisionScripts.load();
    for (RedisScript script :
        List.of(
            scripts.decide(),
            scripts.batch().orElseThrow(),
            scripts.hold(),
            scripts.refund(),
            scripts.renew())) {
      assertThat(script.text().lines())
          .allSatisfy(
              line -> assertThat(line).isNotEmpty().isEqualTo(line.strip()).doesNotContain("--"));
    }
  }

  /** Some languages write numbers in digits of their own, and an i without its dot. */
  @ParameterizedTest
  @ValueSource(strings = {"ar-EG", "fa", "tr"})
  void theScriptsAreTheSameInAllLanguages(String language) {
    Locale usual = Locale.getDefault();
    String expected = DecisionScripts.load(CUSTOM).decide().text();
    Locale.setDefault(Locale.forLanguageTag(language));
    try {
      assertThat(DecisionScripts.load(CUSTOM).decide().text()).isEqualTo(expected);
    } finally {
      Locale.setDefault(usual);
    }
  }

  @Test
  void theTextOfACustomAlgorithmIsNotChanged() {
    CustomAlgorithm strange =
        new Scripted(
            "  -- a comment\n\n  local text = [[ --%constants\n  -- $1 ]]\n  return #text, { 1 }\n");
    DecisionScripts scripts = DecisionScripts.load(List.of(strange));
    assertThat(scripts.decide().text()).contains(strange.script());
    assertThat(scripts.batch().orElseThrow().text()).contains(strange.script());
  }

  private record Scripted(String script) implements CustomAlgorithm {
    @Override
    public String name() {
      return "scripted";
    }

    @Override
    public int stateSize() {
      return 1;
    }

    @Override
    public Evaluation read(double now, double cost, CustomRule rule, double[] state) {
      throw new UnsupportedOperationException();
    }
  }
}
