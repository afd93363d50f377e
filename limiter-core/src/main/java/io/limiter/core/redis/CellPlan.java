// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.limiter.core.Ban;
import io.limiter.core.CustomAlgorithm;
import io.limiter.core.FixedWindow;
import io.limiter.core.Rule;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.zip.CRC32;

/** The plan argument for the rules that keep numbers; {@code cells.lua} describes it. */
final class CellPlan {

  private static final int FOLLOWS = 16;
  private static final int ALONE = 32;

  private final List<Rule> rules;
  private final Optional<Ban> ban;
  private final CellCode code;
  private final boolean afterLog;

  /**
   * @param rules none of them a log
   * @param afterLog whether the stack has a log too
   * @throws IllegalArgumentException if a rule is of an algorithm that the scripts do not know
   */
  CellPlan(
      List<Rule> rules, Optional<Ban> ban, List<CustomAlgorithm> algorithms, boolean afterLog) {
    this.rules = rules;
    this.ban = ban;
    this.code = new CellCode(algorithms);
    this.afterLog = afterLog;
  }

  /** Whether it changes with time. */
  boolean isZoned() {
    return rules.stream()
        .anyMatch(
            rule ->
                rule instanceof FixedWindow fixed
                    && fixed.alignment().isPresent()
                    && !fixed.alignment().get().zone().getRules().isFixedOffset());
  }

  List<Rule> rules() {
    return rules;
  }

  boolean bans() {
    return ban.isPresent();
  }

  /** The longest time that a cell is needed for after it was written. */
  long memoryMicros() {
    return rules.stream().mapToLong(CellCode::memory).max().orElse(0);
  }

  /** The plan; mode and cost are to be filled in. */
  byte[] encode(long wallMicros) {
    List<byte[]> cells = new ArrayList<>();
    for (Rule rule : rules) {
      cells.add(code.of(rule, wallMicros));
    }
    ban.ifPresent(known -> cells.add(CellCode.of(known)));
    byte[] empty = empty(cells);
    int length = cells.stream().mapToInt(cell -> cell.length).sum();
    ByteBuffer plan = ByteBuffer.allocate(12 + empty.length + length);
    plan.position(5);
    plan.put((byte) ((afterLog ? FOLLOWS : ALONE) + cells.size()));
    plan.put(empty, 0, 4).putShort((short) empty.length).put(empty);
    cells.forEach(plan::put);
    return plan.array();
  }

  /** A state in which nothing was ever used. */
  private byte[] empty(List<byte[]> cells) {
    int[] sizes = new int[cells.size()];
    int numbers = 0;
    for (int c = 0; c < sizes.length; c++) {
      sizes[c] = c < rules.size() ? CellCode.size(rules.get(c)) : CellCode.BAN_SIZE;
      numbers += sizes[c];
    }
    ByteBuffer state = ByteBuffer.allocate(24 + 5 * sizes.length + 8 * numbers);
    state.putInt(0).putInt(sizes.length).putDouble(0).putDouble(0);
    for (int c = 0; c < sizes.length; c++) {
      state
          .putInt(c < rules.size() ? CellCode.print(rules.get(c)) : CellCode.BAN)
          .put((byte) sizes[c]);
    }
    CRC32 crc = new CRC32();
    crc.update(state.array(), 0, state.position());
    for (int c = 0; c < sizes.length; c++) {
      state.putDouble(c < rules.size() ? -1 : 0);
      state.position(state.position() + 8 * (sizes[c] - 1));
    }
    return state.putInt(0, (int) crc.getValue()).array();
  }
}
