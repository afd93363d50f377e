// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class OptionsTest {

  private static final List<Mode.Option> OWN =
      List.of(new Mode.Option("max-subjects", "N", "up to how many"));

  private static Options parse(String... arguments) {
    return Options.parse(List.of(arguments), OWN);
  }

  @Test
  void aRunHasSevenRoundsOfTwoSecondsByDefault() {
    Options options = parse("engine");

    assertThat(options.rounds()).isEqualTo(7);
    assertThat(options.time()).isEqualTo(Duration.ofSeconds(2));
    assertThat(options.quick()).isFalse();
    assertThat(options.json()).isEmpty();
  }

  @Test
  void optionsMayBeGivenInAnyOrder() {
    Options options =
        parse(
            "engine",
            "--quick",
            "--max-subjects",
            "5000",
            "--seconds",
            "0.5",
            "--json",
            "x.json",
            "--rounds",
            "3");

    assertThat(options.rounds()).isEqualTo(3);
    assertThat(options.time()).isEqualTo(Duration.ofMillis(500));
    assertThat(options.json()).contains(Path.of("x.json"));
    assertThat(options.number("max-subjects", 1)).isEqualTo(5_000);
    assertThat(options.quick()).isTrue();
  }

  @Test
  void unknownOptionsAreNamedWithTheRemedy() {
    assertThatThrownBy(() -> parse("engine", "--round", "3"))
        .hasMessage(
            "There is no option '--round': give it one of --rounds, --seconds, --json, --plots, --redis, --quick, --max-subjects");
    assertThatThrownBy(() -> parse("engine", "--rounds"))
        .hasMessage(
            "The option --rounds has no value: give it N, how often each is measured, in turn; 7 unless given");
    assertThatThrownBy(() -> parse("engine", "--rounds", "0"))
        .hasMessage("The option --rounds is '0': give it a whole number above 0");
    assertThatThrownBy(() -> parse("engine", "--seconds", "soon"))
        .hasMessage("The option --seconds is 'soon': give it a number from 0.01 to 3600");
    assertThatThrownBy(
            () -> Benchmarks.run(List.of("engines"), new PrintStream(new ByteArrayOutputStream())))
        .isInstanceOf(UsageException.class)
        .hasMessageStartingWith(
            "There is no mode 'engines': give it one of engine, batch, hot, leases, memory")
        .hasMessageEndingWith("all, or help");
  }

  @Test
  void theHelpNamesEveryModeAndOption() {
    assertThat(Benchmarks.help())
        .contains(
            "engine ", "memory ", "all ", "compare ", "--rounds N", "--quick", "--max-subjects N");
  }
}
