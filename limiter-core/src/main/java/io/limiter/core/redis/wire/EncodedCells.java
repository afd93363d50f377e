// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.state.Cell;
import io.limiter.core.state.CellReadout;
import io.limiter.core.store.Mode;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Optional;
import java.util.zip.CRC32;

/**
 * The rules of a stack that keep numbers, and its ban: their part of the plan, and of the reply;
 * {@code decide.lua} and {@code cells.lua} describe both.
 */
final class EncodedCells {

  /** Bytes before the first cell's fingerprint. */
  private static final int HEADER = 24;

  /** A bit of the layout fingerprint that distinguishes cells from a log. */
  static final int CELLS = 1 << 31;

  /** The longest time that the layout fingerprint can hold, four years. */
  private static final long MOST_SECONDS = (1 << Cell.MOST_EXPONENT) - 1;

  private final List<Rule> rules;
  private final Optional<BanRule> ban;
  private final CellCode code;
  private final byte[] unused;
  private final Cell[] neverUsed;
  private final int replyLength;

  /**
   * @param rules rules without a log; may be empty if there is a ban
   */
  EncodedCells(List<Rule> rules, Optional<BanRule> ban, List<CustomAlgorithm> algorithms) {
    this.rules = rules;
    this.ban = ban;
    this.code = new CellCode(algorithms);
    this.unused = state();
    this.neverUsed = rules.stream().map(Cell::unused).toArray(Cell[]::new);
    int numbers = rules.stream().mapToInt(CellCode::size).sum();
    this.replyLength = 8 + 8 * numbers + (bans() ? 8 * CellCode.BAN_SIZE + 8 : 0);
  }

  /** Whether {@link #codes} change with time. */
  boolean isZoned() {
    return rules.stream()
        .anyMatch(
            rule ->
                rule instanceof FixedWindowRule fixed
                    && fixed.alignment().isPresent()
                    && !fixed.alignment().get().zone().getRules().isFixedOffset());
  }

  private boolean bans() {
    return ban.isPresent();
  }

  /** The number of cells. */
  int size() {
    return rules.size() + (bans() ? 1 : 0);
  }

  /** The layout fingerprint, with which the cells of these rules begin. */
  int fingerprint() {
    return ByteBuffer.wrap(unused).getInt();
  }

  /** The longest time that a rule's cell is needed for after it was written. */
  long memoryMicros() {
    return rules.stream().mapToLong(Cell::memoryMicros).max().orElse(0);
  }

  /** The longest time that any cell may be needed for; usually only the script can compute it. */
  private long mostSeconds() {
    long micros = memoryMicros();
    for (Rule rule : rules) {
      micros = Math.max(micros, Cell.longestMemoryMicros(rule));
    }
    if (ban.isPresent()) {
      micros = Math.max(micros, Cell.memoryMicros(ban.get()));
    }
    return Math.min(MOST_SECONDS, micros / 1_000_000 + 1);
  }

  /**
   * The algorithm and numbers of each cell.
   *
   * @throws IllegalArgumentException if the scripts do not contain a rule's algorithm
   */
  byte[] codes(long wallMicros) {
    ByteArrayOutputStream codes = new ByteArrayOutputStream();
    rules.forEach(rule -> codes.writeBytes(code.of(rule, wallMicros)));
    ban.ifPresent(known -> codes.writeBytes(CellCode.of(known)));
    return codes.toByteArray();
  }

  /** The cells of rules that are fully replenished. */
  byte[] unused() {
    return unused;
  }

  private byte[] state() {
    int[] sizes = new int[size()];
    int numbers = 1 + sizes.length;
    for (int c = 0; c < sizes.length; c++) {
      sizes[c] = c < rules.size() ? CellCode.size(rules.get(c)) : CellCode.BAN_SIZE;
      numbers += sizes[c];
    }
    int all = sizes.length + 1;
    ByteBuffer state = ByteBuffer.allocate(HEADER + 5 * all + 8 * numbers);
    state.putInt(0).putInt(CELLS + all).putDouble(0).putDouble(0);
    state.putInt(CellCode.DATA).put((byte) all);
    for (int c = 0; c < sizes.length; c++) {
      state
          .putInt(c < rules.size() ? CellCode.fingerprint(rules.get(c)) : CellCode.BAN)
          .put((byte) sizes[c]);
    }
    state.putDouble(-1); // written by the script, when it first writes any of them
    for (int c = 0; c < sizes.length; c++) {
      state.putLong(c < rules.size() ? CellCode.description(rules.get(c)) : description());
    }
    // Includes the descriptions: rules that are needed for longer are different, though cells may
    // serve both.
    CRC32 crc = new CRC32();
    crc.update(state.array(), 0, state.position());
    // And the time to live, which a script mostly leaves as it is.
    crc.update(ByteBuffer.allocate(Long.BYTES).putLong(0, memoryMicros()).array());
    for (int c = 0; c < sizes.length; c++) {
      state.putDouble(c < rules.size() ? -1 : 0);
      state.position(state.position() + 8 * (sizes[c] - 1));
    }
    // 0 marks cells of several stacks, and a log without the cursors of any stack.
    return state
        .putInt(0, crc.getValue() == 0 ? 1 : (int) crc.getValue())
        .putInt(4, CELLS + 16 * (int) mostSeconds() + all)
        .array();
  }

  private long description() {
    return ban.map(known -> CellCode.description(0, Cell.memoryMicros(known), 0)).orElseThrow();
  }

  /** Length of the reply. */
  int replyLength() {
    return replyLength;
  }

  /**
   * Reads the reply to a call.
   *
   * @param offset where the reply of the cells begins, with their time
   */
  Readout read(ByteBuffer reply, int offset, Mode mode, int cost) {
    long nowMicros = (long) DecideReply.timeMicros(reply.getDouble(offset), DecideReply.LATEST);
    CellReadout[] readouts = new CellReadout[rules.size()];
    int at = offset + 8;
    for (int r = 0; r < readouts.length; r++) {
      double[] numbers = new double[CellCode.size(rules.get(r))];
      for (int n = 0; n < numbers.length; n++) {
        double number = reply.getDouble(at + 8 * n);
        numbers[n] = rules.get(r) instanceof CustomRule ? DecideReply.finite(number) : number;
      }
      at += 8 * numbers.length;
      readouts[r] =
          Cell.stored(rules.get(r), neverUsed[r], nowMicros, numbers)
              .read(rules.get(r), nowMicros, cost, mode);
      DecideReply.remainingBefore(readouts[r].remainingBefore(), rules.get(r).capacity());
    }
    double banMicros = bans() ? reply.getDouble(at + 8 * CellCode.BAN_SIZE) : 0;
    return new Readout(
        readouts, bans(), (long) DecideReply.timeMicros(banMicros, DecideReply.LATEST));
  }

  /** The numbers of the cells, and of the ban. Rules are given by their index among those here. */
  static final class Readout {

    private final CellReadout[] readouts;
    private final boolean bans;
    private final long banMicros;

    Readout(CellReadout[] readouts, boolean bans, long banMicros) {
      this.readouts = readouts;
      this.bans = bans;
      this.banMicros = banMicros;
    }

    long remainingBefore(int rule) {
      return readouts[rule].remainingBefore();
    }

    long retryAfterMicros(int rule, boolean taken) {
      return DecideReply.retryAfterMicros(readouts[rule].retryAfterMicros(taken));
    }

    long resetAfterMicros(int rule, boolean taken) {
      return (long)
          DecideReply.timeMicros(
              (double) readouts[rule].resetAfterMicros(taken), DecideReply.LATEST);
    }

    long delayMicros(int rule) {
      return (long)
          DecideReply.timeMicros((double) readouts[rule].delayMicros(), DecideReply.LATEST);
    }

    /** The units that an admitted call takes from each cell; the ban, which is last, gives none. */
    int[] taken() {
      int[] units = new int[readouts.length + (bans ? 1 : 0)];
      for (int c = 0; c < readouts.length; c++) {
        units[c] = (int) readouts[c].units();
      }
      return units;
    }

    /** For how long the call waits, see {@link CellReadout#departureParts}. */
    long departureParts() {
      long longest = 0;
      for (CellReadout readout : readouts) {
        longest = Math.max(longest, readout.departureParts());
      }
      return longest;
    }

    long banMicros() {
      return banMicros;
    }
  }
}
