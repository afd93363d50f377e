// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import static io.limiter.core.StoreHarness.SECOND;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.memory.CellArray.BanState;
import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.state.Cell;
import io.limiter.core.state.CellAlgorithm;
import io.limiter.core.state.CellReadout;
import io.limiter.core.store.Mode;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which cells of other rules, and which bans, are kept beside those that are written. */
class CellArrayTest {

  private static final long S = 1_000_000;
  private static final BanRule BAN = BanRule.of(3, Duration.ofSeconds(4), SECOND);
  private static final BanState VIOLATED = new BanState(0, 1, 0, 0);

  private final CellArray cells = new CellArray();

  /** A cell that is only stored. */
  private record Stored(int size, long timeMicros, long memoryMicros) implements Cell {

    @Override
    public CellAlgorithm algorithm() {
      return CellAlgorithm.SLIDING_COUNTER;
    }

    @Override
    public double[] plan(Rule rule, long wallMicros) {
      throw new UnsupportedOperationException();
    }

    @Override
    public String meaning() {
      return "stored";
    }

    @Override
    public Cell withNumbers(long firstMicros, double[] numbers, long nowMicros) {
      throw new UnsupportedOperationException();
    }

    @Override
    public boolean serves(Rule rule) {
      return false;
    }

    @Override
    public CellReadout read(Rule rule, long nowMicros, int cost, Mode mode) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Cell giveBack(long stampMicros, int units, int taken) {
      return this;
    }

    @Override
    public long neededUntilMicros() {
      return timeMicros + memoryMicros;
    }
  }

  private static Cell cell(int size) {
    return new Stored(size, 0, S);
  }

  /** The number of cells after one of a size was written beside others. */
  private int kept(int written, boolean banned, Stream<Integer> others) {
    cells.write(
        new Cell[] {cell(written)},
        others.map(CellArrayTest::cell).toList(),
        banned ? Optional.of(BAN) : Optional.empty(),
        banned ? VIOLATED : null,
        0,
        0);
    return CellArray.all(cells).length;
  }

  @Test
  void thereAreAtMostFourteenCellsAndABanIsOne() {
    assertThat(kept(2, false, Stream.of(2))).isEqualTo(2);
    assertThat(kept(2, false, Collections.nCopies(20, 2).stream())).isEqualTo(14);
    assertThat(kept(2, true, Collections.nCopies(20, 2).stream())).isEqualTo(13);
  }

  /**
   * The numbers of each, one that describes it, five bytes and a header; as a script stores them.
   */
  @Test
  void theyTakeAtMostTheBytesThatAScriptUses() {
    assertThat(kept(60, false, Stream.of(60))).isEqualTo(2);
    assertThat(kept(60, false, Stream.of(61))).isEqualTo(1);
    assertThat(kept(40, false, Stream.of(30, 30, 16))).isEqualTo(4);
    assertThat(kept(40, false, Stream.of(30, 30, 17))).isEqualTo(3);
    assertThat(kept(40, false, Stream.of(30, 30, 17, 2)))
        .as("a smaller one may still fit")
        .isEqualTo(4);
  }

  @Test
  void aBanTakesFourNumbersMore() {
    assertThat(kept(60, true, Stream.of(54))).isEqualTo(2);
    assertThat(kept(60, true, Stream.of(55))).isEqualTo(1);
  }

  /** It is needed for three seconds, which are stored as four. */
  @ParameterizedTest
  @CsvSource({
    "-1, 0, false",
    "0, 0, true",
    "0, 3999999, true",
    "0, 4000000, false",
    "7000000, 7000000, true",
    "7000001, 7000000, false",
    "7000000, 10999999, true",
    "7000000, 11000000, false"
  })
  void aCellOfAnotherRuleIsKeptForAPowerOfTwoOfSeconds(
      long timeMicros, long nowMicros, boolean kept) {
    Cell other = new Stored(2, timeMicros, 3 * S);

    cells.write(new Cell[] {cell(2)}, List.of(other), Optional.empty(), null, nowMicros, 0);

    assertThat(List.of(CellArray.all(cells)).contains(other)).isEqualTo(kept);
  }

  /** Violations count for four seconds; a ban lasts until its end. */
  @ParameterizedTest
  @CsvSource({
    "1, 0, 0, 3999999, true",
    "1, 0, 0, 4000000, false",
    "0, 9000000, 1, 8999999, true",
    "0, 9000000, 1, 9000000, false",
    "0, 9000000, 0, 8999999, false"
  })
  void aBanIsKeptBesideRulesWithoutOne(
      int violations, long untilMicros, int level, long nowMicros, boolean kept) {
    BanState state = new BanState(0, violations, untilMicros, level);
    Cell[] written = {cell(2)};
    cells.write(written, List.of(), Optional.of(BAN), state, 0, 0);

    cells.write(written, List.of(), Optional.empty(), null, nowMicros, 0);

    assertThat(cells.ban()).isEqualTo(kept ? state : null);
  }

  @Test
  void withoutABanThereIsNoneToKeep() {
    cells.write(new Cell[] {cell(2)}, List.of(), Optional.empty(), null, 0, 0);
    assertThat(cells.ban()).isNull();
  }

  @Test
  void theTimeContinuesFromTheLastWrite() {
    cells.write(new Cell[] {cell(2)}, List.of(), Optional.empty(), null, 100, 30);

    assertThat(cells.newestMicros()).isEqualTo(100);
    assertThat(cells.lastWriteClockMicros()).isEqualTo(70);
    assertThat(cells.nowMicros(60)).isEqualTo(100);
    assertThat(cells.nowMicros(75)).isEqualTo(105);
    cells.shiftTo(40);
    assertThat(cells.nowMicros(75)).isEqualTo(115);
  }

  @Test
  void cellsExpireAGraceAfterTheyWereNeeded() {
    cells.write(new Cell[] {new Stored(2, 50, 100)}, List.of(), Optional.empty(), null, 60, 10);

    assertThat(cells.expired(149, 10)).isFalse();
    assertThat(cells.expired(150, 10)).isTrue();
  }

  /** As each write is needed for at least the grace, wherever the clock starts. */
  @ParameterizedTest
  @CsvSource({"1000, 900", "-1000, 0"})
  void cellsExpireAGraceAfterTheyWereWritten(long nowMicros, long shiftMicros) {
    cells.write(
        new Cell[] {new Stored(2, nowMicros - 50, 40)},
        List.of(),
        Optional.empty(),
        null,
        nowMicros,
        shiftMicros);
    long clockMicros = nowMicros - shiftMicros;

    assertThat(cells.expired(clockMicros + 9, 10)).isFalse();
    assertThat(cells.expired(clockMicros + 10, 10)).isTrue();
  }
}
