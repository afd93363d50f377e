// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.limiter.benchmarks.Compare.Change;
import io.limiter.benchmarks.Compare.Figure;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CompareTest {

  @TempDir Path directory;

  private final ByteArrayOutputStream printed = new ByteArrayOutputStream();

  /** So many rounds from one value to another. */
  private static List<Double> rounds(int count, double from, double to) {
    return IntStream.range(0, count).mapToObj(i -> from + i * (to - from) / (count - 1)).toList();
  }

  private static Change change(List<Double> before, List<Double> after, Table.Better better) {
    return Change.of(new Figure(before, false, better), new Figure(after, false, better));
  }

  @Test
  void aChangeThatAllRoundsShowIsBeyondTheNoise() {
    List<Double> low = rounds(7, 90, 94);
    List<Double> high = rounds(7, 96, 100);
    assertThat(change(high, low, Table.Better.MORE)).isEqualTo(Change.WORSE);
    assertThat(change(low, high, Table.Better.MORE)).isEqualTo(Change.BETTER);
    assertThat(change(high, low, Table.Better.LESS)).isEqualTo(Change.BETTER);
    assertThat(change(low, high, Table.Better.LESS)).isEqualTo(Change.WORSE);
  }

  @Test
  void roundsThatOverlapAreNoise() {
    assertThat(change(rounds(7, 90, 100), rounds(7, 80, 97), Table.Better.MORE))
        .isEqualTo(Change.NONE);
  }

  @Test
  void oneRoundOfManyMayContradict() {
    List<Double> low = List.of(90.0, 91.0, 92.0, 93.0, 94.0, 95.0, 98.5);
    assertThat(change(rounds(7, 98, 104), low, Table.Better.MORE)).isEqualTo(Change.WORSE);
  }

  @Test
  void aClearChangeOfLessThanTwoInAHundredIsNotReported() {
    assertThat(change(rounds(7, 100, 100.1), rounds(7, 98.5, 98.6), Table.Better.MORE))
        .isEqualTo(Change.NONE);
  }

  @Test
  void fiveRoundsAreTooFewForAnyChange() {
    assertThat(change(rounds(5, 100, 101), rounds(5, 50, 51), Table.Better.MORE))
        .isEqualTo(Change.TOO_FEW);
    assertThat(change(rounds(6, 100, 101), rounds(6, 50, 51), Table.Better.MORE))
        .isEqualTo(Change.WORSE);
  }

  @Test
  void countedFiguresHaveNoNoise() {
    assertThat(
            Change.of(
                new Figure(List.of(216.0), true, Table.Better.LESS),
                new Figure(List.of(248.0), true, Table.Better.LESS)))
        .isEqualTo(Change.WORSE);
  }

  /** By counting all orders of four and three rounds. */
  @Test
  void theChanceIsThatOfMannAndWhitney() {
    int[] orders = new int[13];
    for (int lows = 0; lows < 1 << 7; lows++) {
      if (Integer.bitCount(lows) == 4) {
        int contradictions = 0;
        for (int i = 0; i < 7; i++) {
          if ((lows >> i & 1) == 1) {
            contradictions += i - Integer.bitCount(lows & (1 << i) - 1); // highs below this low
          }
        }
        orders[contradictions]++;
      }
    }
    int sum = 0;
    for (int most = 0; most <= 12; most++) {
      sum += orders[most];
      assertThat(Compare.chance(4, 3, most)).isCloseTo(sum / 35.0, within(1e-12));
    }
  }

  private static Table table(List<Double> plain, List<Double> limited, List<Double> ratio) {
    return new Table("HTTP", "route", "÷ /plain", "goal", "requests/s", "scripts/s")
        .moreIsBetter("÷ /plain", "requests/s")
        .yardsticks(List.of("/plain"))
        .row("/plain", Spread.of(rounds(7, 1, 1)), "", Spread.of(plain), Spread.of(plain))
        .row("/limited", Spread.of(ratio), "", Spread.of(limited), Spread.of(limited));
  }

  private String file(String name, Table table) throws IOException {
    Report report =
        new Report(
            new PrintStream(new ByteArrayOutputStream(), true, UTF_8),
            Options.parse(List.of("http"), List.of()));
    report.about("machine", name);
    report.table(table);
    Path file = directory.resolve(name);
    report.writeJson(file);
    return file.toString();
  }

  private int compare(Table before, Table after) throws IOException {
    return Compare.run(
        List.of(file("a", before), file("b", after)), new PrintStream(printed, true, UTF_8));
  }

  @Test
  void eachFigureWithADirectionIsCompared() throws IOException {
    int worse =
        compare(
            table(rounds(7, 100, 106), rounds(7, 70, 76), rounds(7, 0.7, 0.72)),
            table(rounds(7, 99, 107), rounds(7, 50, 56), rounds(7, 0.5, 0.52)));

    assertThat(worse).isEqualTo(1);
    assertThat(printed.toString(UTF_8))
        .contains("* machine: a, then b", "### HTTP")
        .contains("| /plain | requests/s | 103 (100–106) | 103 (99.0–107) | 1.00 | within the")
        .contains(
            "| /limited | requests/s | 73.0 (70.0–76.0) | 53.0 (50.0–56.0) | 0.726 | worse (its ratio counts) |")
        .contains("| /limited | ÷ /plain | 0.710 (0.700–0.720) | 0.510 (0.500–0.520) | 0.718 | w")
        .contains("1 of 2 figures got worse")
        .doesNotContain("scripts/s");
  }

  @Test
  void aRateIsNotReportedWhereItsRatioHolds() throws IOException {
    int worse =
        compare(
            table(rounds(7, 90, 106), rounds(7, 70, 76), rounds(7, 0.7, 0.72)),
            table(rounds(7, 80, 104), rounds(7, 60, 66), rounds(7, 0.7, 0.72)));

    assertThat(worse).isZero();
    assertThat(printed.toString(UTF_8)).contains("| 0.863 | worse (its ratio counts) |");
  }

  @Test
  void aRateWithoutARatioCounts() throws IOException {
    Table before = new Table("Parts", "part", "times/s").moreIsBetter("times/s");
    Table after = new Table("Parts", "part", "times/s").moreIsBetter("times/s");
    before.row("key", Spread.of(rounds(7, 70, 76)));
    after.row("key", Spread.of(rounds(7, 50, 56)));

    assertThat(compare(before, after)).isEqualTo(1);
  }

  @Test
  void aFigureThatGotWorseWithItsYardstickIsNotReported() throws IOException {
    int worse =
        compare(
            table(rounds(7, 100, 106), rounds(7, 70, 76), rounds(7, 0.7, 0.72)),
            table(rounds(7, 50, 53), rounds(7, 35, 38), rounds(7, 0.7, 0.72)));

    assertThat(worse).isZero();
    assertThat(printed.toString(UTF_8))
        .contains("| 0.500 | worse (yardstick) |")
        .contains("| 0.500 | worse (the yardsticks changed too) |")
        .contains("0 of 2 figures got worse");
  }

  @Test
  void aPublishedReportHasMediansAndFindsNothingWorse() throws IOException {
    Table before = table(rounds(7, 1_100, 1_106), rounds(7, 70, 76), rounds(7, 0.7, 0.72));
    Table after = table(rounds(7, 1_100, 1_106), rounds(7, 35, 38), rounds(7, 0.35, 0.36));
    Path published = directory.resolve("http.md");
    Files.writeString(published, "# Report\n\n* system: a\n\n" + before.markdown().substring(1));

    int worse =
        Compare.run(
            List.of(published.toString(), file("b", after)), new PrintStream(printed, true, UTF_8));

    assertThat(worse).isZero();
    assertThat(printed.toString(UTF_8))
        .contains("* system: a, then ", "* machine: not stated, then b")
        .contains("| /plain | requests/s | 1,103 | 1,103 (1,100–1,106) |")
        .contains("| /limited | ÷ /plain | 0.710 | 0.355 (0.350–0.360) | 0.500 | too few rounds |");
  }

  @Test
  void filesThatAreNoReportsOfOneModeAreErrors() throws IOException {
    PrintStream out = new PrintStream(printed, true, UTF_8);
    String report = file("a", table(rounds(7, 1, 2), rounds(7, 1, 2), rounds(7, 1, 2)));
    String other = file("b", new Table("Else", "what", "µs").row("x", 1L));
    String text = Files.writeString(directory.resolve("text"), "{}").toString();

    assertThatThrownBy(() -> Compare.run(List.of(report), out))
        .isInstanceOf(UsageException.class)
        .hasMessage("compare has 1 files: give it two that --json has written, the older first");
    assertThatThrownBy(() -> Compare.run(List.of(report, text), out))
        .hasMessage(text + " is no report: give compare a file that --json has written");
    assertThatThrownBy(() -> Compare.run(List.of(report, report + "x"), out))
        .isInstanceOf(UsageException.class)
        .hasMessageStartingWith(report + "x cannot be read: ");
    assertThatThrownBy(() -> Compare.run(List.of(report, other), out))
        .isInstanceOf(UsageException.class)
        .hasMessageStartingWith("The two reports have no figure in common");
  }
}
