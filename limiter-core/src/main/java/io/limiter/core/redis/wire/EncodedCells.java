// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.state.Cell;
import io.limiter.core.state.CellAlgorithm;
import io.limiter.core.state.CellReadout;
import io.limiter.core.store.Mode;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
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

  /** The algorithm of a ban, and its fingerprint. */
  static final int BAN = 9;

  /** The fingerprint of the first cell, which describes the others. */
  static final int DESCRIPTION = 10;

  /** The longest time that the layout fingerprint can hold, four years. */
  private static final long MOST_SECONDS = (1 << Cell.MOST_EXPONENT) - 1;

  private final List<Rule> rules;
  private final Optional<BanRule> ban;
  private final List<CustomAlgorithm> algorithms;

  /** The cell of each rule that is fully replenished. */
  private final Cell[] neverUsed;

  private final byte[] unused;
  private final int replyLength;

  /**
   * @param rules rules without a log; may be empty if there is a ban
   */
  EncodedCells(List<Rule> rules, Optional<BanRule> ban, List<CustomAlgorithm> algorithms) {
    this.rules = rules;
    this.ban = ban;
    this.algorithms = algorithms;
    this.neverUsed = rules.stream().map(Cell::unused).toArray(Cell[]::new);
    this.unused = state();
    int numbers = Arrays.stream(neverUsed).mapToInt(Cell::size).sum();
    this.replyLength = 8 + 8 * numbers + (bans() ? 8 * Cell.BAN_SIZE + 8 : 0);
  }

  /** Whether {@link #codes} change with time. */
  boolean isZoned() {
    return Arrays.stream(neverUsed).anyMatch(Cell::isZoned);
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
    return Arrays.stream(neverUsed).mapToLong(Cell::memoryMicros).max().orElse(0);
  }

  /** The longest time that any cell may be needed for; usually only the script can compute it. */
  private long mostSeconds() {
    long micros = memoryMicros();
    for (Cell cell : neverUsed) {
      micros = Math.max(micros, cell.longestMemoryMicros());
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
    for (int r = 0; r < neverUsed.length; r++) {
      double[] plan = neverUsed[r].plan(rules.get(r), wallMicros);
      codes.writeBytes(
          rules.get(r) instanceof CustomRule custom
              ? codeOfCustom(custom, plan)
              : code(neverUsed[r].algorithm().number(), plan));
    }
    ban.ifPresent(known -> codes.writeBytes(codeOf(known)));
    return codes.toByteArray();
  }

  private static byte[] code(int algorithm, double... plan) {
    ByteBuffer code = ByteBuffer.allocate(1 + 8 * plan.length).put((byte) algorithm);
    for (double number : plan) {
      code.putDouble(number);
    }
    return code.array();
  }

  private static byte[] codeOf(BanRule ban) {
    return code(
        BAN,
        Cell.doubles(
            ban.violations(),
            MICROSECONDS.convert(ban.within()),
            MICROSECONDS.convert(ban.time()),
            ban.growth(),
            MICROSECONDS.convert(ban.longest())));
  }

  /** Also has the number of values, and of parameters. */
  private byte[] codeOfCustom(CustomRule rule, double[] plan) {
    int known = 0;
    while (known < algorithms.size()
        && !algorithms.get(known).name().equals(rule.algorithm().name())) {
      known++;
    }
    if (known == algorithms.size()) {
      throw new IllegalArgumentException(
          "The rule '%s' uses the algorithm '%s', which the Redis store does not have: pass it to the store when it is created"
              .formatted(rule.name(), rule.algorithm().name()));
    }
    int parameters = rule.parameters().size();
    ByteBuffer code = ByteBuffer.allocate(3 + 8 * plan.length);
    code.put((byte) (CellAlgorithm.CUSTOM.number() + known));
    code.put((byte) rule.algorithm().stateSize());
    for (int n = 0; n < plan.length; n++) {
      if (n == plan.length - parameters) {
        code.put((byte) parameters);
      }
      code.putDouble(plan[n]);
    }
    return code.array();
  }

  /** The cells of rules that are fully replenished. */
  byte[] unused() {
    return unused;
  }

  private byte[] state() {
    int[] sizes = new int[size()];
    int numbers = 1 + sizes.length;
    for (int c = 0; c < sizes.length; c++) {
      sizes[c] = c < neverUsed.length ? neverUsed[c].size() : Cell.BAN_SIZE;
      numbers += sizes[c];
    }
    int all = sizes.length + 1;
    ByteBuffer state = ByteBuffer.allocate(HEADER + 5 * all + 8 * numbers);
    state.putInt(0).putInt(CELLS + all).putDouble(0).putDouble(0);
    state.putInt(DESCRIPTION).put((byte) all);
    for (int c = 0; c < sizes.length; c++) {
      state
          .putInt(c < neverUsed.length ? fingerprint(neverUsed[c].meaning()) : BAN)
          .put((byte) sizes[c]);
    }
    state.putDouble(-1); // written by the script, when it first writes any of them
    for (int c = 0; c < sizes.length; c++) {
      state.putLong(c < neverUsed.length ? description(neverUsed[c]) : descriptionOfBan());
    }
    // Includes the descriptions: rules that are needed for longer are different, though cells may
    // serve both.
    CRC32 crc = new CRC32();
    crc.update(state.array(), 0, state.position());
    // And the time to live, which a script mostly leaves as it is.
    crc.update(ByteBuffer.allocate(Long.BYTES).putLong(0, memoryMicros()).array());
    for (int c = 0; c < sizes.length; c++) {
      state.putDouble(c < neverUsed.length ? -1 : 0);
      state.position(state.position() + 8 * (sizes[c] - 1));
    }
    // 0 marks cells of several stacks, and a log without the cursors of any stack.
    return state
        .putInt(0, crc.getValue() == 0 ? 1 : (int) crc.getValue())
        .putInt(4, CELLS + 16 * (int) mostSeconds() + all)
        .array();
  }

  private static int fingerprint(String meaning) {
    CRC32 crc = new CRC32();
    crc.update(meaning.getBytes(StandardCharsets.UTF_8));
    return (int) crc.getValue();
  }

  /** What the first cell says about another one, for rules of other stacks. */
  private static long description(Cell cell) {
    return description(cell.algorithm().kind(), cell.longestMemoryMicros(), cell.scale());
  }

  private long descriptionOfBan() {
    return ban.map(known -> description(0, Cell.memoryMicros(known), 0)).orElseThrow();
  }

  private static long description(int kind, long memoryMicros, long scale) {
    return ((long) kind << 56) + ((long) Cell.exponent(memoryMicros) << 48) + scale;
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
      double[] numbers = new double[neverUsed[r].size()];
      for (int n = 0; n < numbers.length; n++) {
        double number = reply.getDouble(at + 8 * n);
        numbers[n] = rules.get(r) instanceof CustomRule ? DecideReply.finite(number) : number;
      }
      at += 8 * numbers.length;
      readouts[r] =
          neverUsed[r].stored(nowMicros, numbers).read(rules.get(r), nowMicros, cost, mode);
      DecideReply.remainingBefore(readouts[r].remainingBefore(), rules.get(r).capacity());
    }
    double banMicros = bans() ? reply.getDouble(at + 8 * Cell.BAN_SIZE) : 0;
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
