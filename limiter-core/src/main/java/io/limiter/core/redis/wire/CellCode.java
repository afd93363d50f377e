// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.FixedWindowRule.Alignment;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Micros;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.Rule.LoggedRule;
import io.limiter.core.rule.TokenBucketRule;
import io.limiter.core.state.Cell;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.time.zone.ZoneOffsetTransition;
import java.time.zone.ZoneRules;
import java.util.List;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import org.jspecify.annotations.Nullable;

/** Encodes one cell for {@code cells.lua}: its algorithm and numbers. */
public final class CellCode {

  /** The first number of a custom algorithm. */
  public static final int CUSTOM = 64;

  private static final int COUNTER = 1;
  private static final int WINDOW = 2;
  private static final int ALIGNED = 3;
  private static final int BUCKET = 4;
  private static final int INTERVAL_BUCKET = 5;
  private static final int LEAKY_BUCKET = 6;
  static final int BAN = 9;

  /** The fingerprint of the first cell, which describes the others. */
  static final int DATA = 10;

  /** The number of values of a ban. */
  public static final int BAN_SIZE = 4;

  private final List<CustomAlgorithm> algorithms;

  CellCode(List<CustomAlgorithm> algorithms) {
    this.algorithms = algorithms;
  }

  /**
   * The description of a rule's own cell that the first cell contains, for rules of other stacks.
   */
  static long description(Rule rule) {
    Cell unused = Cell.unused(rule);
    return description(unused.kind(), Cell.longestMemoryMicros(rule), unused.scale());
  }

  static long description(int kind, long memoryMicros, long scale) {
    return ((long) kind << 56) + ((long) Cell.exponent(memoryMicros) << 48) + scale;
  }

  /** The number of values that a rule stores. */
  static int size(Rule rule) {
    return Cell.unused(rule).size();
  }

  /**
   * Distinguishes rules whose cells have different meanings. Numbers that only move a limit are
   * left out.
   */
  static int fingerprint(Rule rule) {
    String what;
    if (rule instanceof TokenBucketRule bucket) {
      what = "bucket %d %s %b".formatted(bucket.refill(), bucket.interval(), bucket.greedy());
    } else if (rule instanceof LeakyBucketRule leaky) {
      what = "leaky %d %s".formatted(leaky.count(), leaky.window());
    } else if (rule instanceof FixedWindowRule fixed) {
      what = "window %s %s".formatted(fixed.window(), fixed.alignment());
    } else if (rule instanceof CustomRule custom) {
      what =
          "%s %s %s %s"
              .formatted(
                  custom.algorithm().name(), custom.window(), custom.parameters(), custom.memory());
    } else {
      what = "counter " + rule.window();
    }
    CRC32 crc = new CRC32();
    crc.update(what.getBytes(StandardCharsets.UTF_8));
    return (int) crc.getValue();
  }

  byte[] of(Rule rule, long wallMicros) {
    long window = Micros.of(rule.window());
    if (rule instanceof TokenBucketRule bucket) {
      return bucket(bucket);
    }
    if (rule instanceof LeakyBucketRule leaky) {
      return leaky(leaky);
    }
    if (rule instanceof CustomRule custom) {
      return custom(custom);
    }
    if (rule instanceof FixedWindowRule fixed && fixed.alignment().isPresent()) {
      ZoneChange change = ZoneChange.nearest(fixed.alignment().get().zone(), wallMicros);
      long phase = ZoneChange.phaseMicros(fixed.alignment().get(), fixed.window());
      return numbers(
          ALIGNED,
          rule.count(),
          window,
          phase,
          change.offsetBeforeMicros(),
          change.atMicros(),
          change.offsetAfterMicros());
    }
    if (rule instanceof LoggedRule) {
      throw new IllegalArgumentException("A log has no cell: " + rule);
    }
    return numbers(rule instanceof FixedWindowRule ? WINDOW : COUNTER, rule.count(), window);
  }

  private static byte[] bucket(TokenBucketRule bucket) {
    long micros = Micros.of(bucket.interval());
    long missing = bucket.count() - bucket.initial();
    if (!bucket.greedy()) {
      return numbers(INTERVAL_BUCKET, bucket.count(), micros, bucket.refill(), missing);
    }
    long divisor =
        BigInteger.valueOf(micros).gcd(BigInteger.valueOf(bucket.refill())).longValueExact();
    long unit = micros / divisor;
    return numbers(BUCKET, bucket.count(), unit, bucket.refill() / divisor, missing * unit);
  }

  private static byte[] leaky(LeakyBucketRule leaky) {
    long micros = Micros.of(leaky.window());
    long divisor =
        BigInteger.valueOf(micros).gcd(BigInteger.valueOf(leaky.count())).longValueExact();
    long rate = leaky.count() / divisor;
    long longest = Micros.of(leaky.maxWait()) * rate;
    return numbers(
        LEAKY_BUCKET, micros / divisor, rate, leaky.queue(), longest, leaky.fair() ? 1 : 0);
  }

  private byte[] custom(CustomRule rule) {
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
    ByteBuffer cell = ByteBuffer.allocate(27 + 8 * rule.parameters().size());
    cell.put((byte) (CUSTOM + known)).put((byte) rule.algorithm().stateSize());
    cell.putDouble((double) rule.count()).putDouble((double) Micros.of(rule.window()));
    cell.putDouble((double) Micros.of(rule.memory())).put((byte) rule.parameters().size());
    rule.parameters().forEach(cell::putDouble);
    return cell.array();
  }

  static byte[] of(BanRule ban) {
    return numbers(
        BAN,
        ban.violations(),
        Micros.of(ban.within()),
        Micros.of(ban.time()),
        ban.growth(),
        Micros.of(ban.longest()));
  }

  private static byte[] numbers(int algorithm, long... numbers) {
    ByteBuffer cell = ByteBuffer.allocate(1 + 8 * numbers.length);
    cell.put((byte) algorithm);
    for (long number : numbers) {
      cell.putDouble((double) number);
    }
    return cell.array();
  }

  /**
   * The change of a zone's clocks that is nearest to some time, from which Redis computes local
   * time around then. Times are microseconds.
   *
   * @param offsetBeforeMicros offset from UTC before the change
   * @param atMicros when it happens
   * @param offsetAfterMicros offset from then on
   */
  record ZoneChange(long offsetBeforeMicros, long atMicros, long offsetAfterMicros) {

    static ZoneChange nearest(ZoneId zone, long nearMicros) {
      ZoneRules rules = zone.getRules();
      Instant now = Instant.EPOCH.plus(nearMicros, ChronoUnit.MICROS);
      long offset = micros(rules.getOffset(now));
      return Stream.of(rules.previousTransition(now), rules.nextTransition(now))
          .filter(known -> known != null)
          .min((a, b) -> Long.compare(away(a, now), away(b, now)))
          .map(
              change ->
                  new ZoneChange(
                      micros(change.getOffsetBefore()),
                      change.toEpochSecond() * 1_000_000,
                      micros(change.getOffsetAfter())))
          .orElse(new ZoneChange(offset, 0, offset));
    }

    private static long away(@Nullable ZoneOffsetTransition change, Instant now) {
      return change == null
          ? Long.MAX_VALUE
          : Duration.between(change.getInstant(), now).abs().toSeconds();
    }

    private static long micros(ZoneOffset offset) {
      return offset.getTotalSeconds() * 1_000_000L;
    }

    /** The local time at which windows begin, modulo the window. */
    static long phaseMicros(Alignment alignment, Duration window) {
      LocalDateTime anchor = alignment.anchor().orElse(LocalDateTime.of(1970, 1, 1, 0, 0));
      long local = ChronoUnit.MICROS.between(LocalDateTime.of(1970, 1, 1, 0, 0), anchor);
      return Math.floorMod(local, Micros.of(window));
    }
  }
}
