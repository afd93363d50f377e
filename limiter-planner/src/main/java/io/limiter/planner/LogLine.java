// SPDX-License-Identifier: Apache-2.0
package io.limiter.planner;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoField;
import java.time.temporal.TemporalAccessor;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What was read of one line: its time, and where its fields are. One object for all lines, since
 * most lines need no text.
 */
final class LogLine {

  /** The fields that a format may find. */
  enum Field {
    ADDRESS(0),
    USER(1),
    METHOD(2),
    TARGET(3),
    STATUS(4),
    FORWARDED(5),
    SUBJECT(6),
    COST(7),
    POLICY(8),
    OUTCOME(9);

    private final int index;

    Field(int index) {
      this.index = index;
    }
  }

  /** No time could be read. */
  static final long NONE = Long.MIN_VALUE;

  private static final int FIELDS = Field.values().length;
  private static final byte[] NOTHING = {};

  private static final VarHandle EIGHT =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final long ONES = 0x0101010101010101L;
  private static final long HIGHEST = 0x8080808080808080L;

  /** The microseconds since the epoch; {@link #NONE} if there are none. */
  long micros;

  private final byte[][] texts = new byte[FIELDS][];
  private final int[] begins = new int[FIELDS];
  private final int[] ends = new int[FIELDS];

  /** Forgets the line before. */
  void clear() {
    micros = NONE;
    for (int f = 0; f < FIELDS; f++) {
      texts[f] = NOTHING;
      begins[f] = 0;
      ends[f] = 0;
    }
  }

  void set(Field field, byte[] text, int from, int to) {
    int f = field.index;
    texts[f] = text;
    begins[f] = from;
    ends[f] = to;
  }

  void set(Field field, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    set(field, bytes, 0, bytes.length);
  }

  /** Adds to a field that several lines of a header have given. */
  void add(Field field, String text) {
    set(field, has(field) ? text(field) + "," + text : text);
  }

  byte[] bytes(Field field) {
    return texts[field.index];
  }

  int begin(Field field) {
    return begins[field.index];
  }

  int end(Field field) {
    return ends[field.index];
  }

  /** Whether the field is there and neither empty nor {@code -}, as logs write what is missing. */
  boolean has(Field field) {
    int f = field.index;
    int length = ends[f] - begins[f];
    return length > 1 || (length == 1 && texts[f][begins[f]] != '-');
  }

  String text(Field field) {
    int f = field.index;
    return new String(texts[f], begins[f], ends[f] - begins[f], StandardCharsets.UTF_8);
  }

  /** A number of a field; below 0 if it is none. */
  int number(Field field) {
    int f = field.index;
    if (ends[f] == begins[f] || ends[f] - begins[f] > 10) {
      return -1;
    }
    long value = 0;
    for (int i = begins[f]; i < ends[f]; i++) {
      byte digit = texts[f][i];
      if (digit < '0' || digit > '9') {
        return -1;
      }
      value = value * 10 + digit - '0';
    }
    return value > Integer.MAX_VALUE ? -1 : (int) value;
  }

  /** Splits {@code GET /path HTTP/1.1}; a request of one word, as broken clients send, has none. */
  void setRequest(byte[] text, int from, int to) {
    int space = find(text, ' ', from, to);
    if (space < 0) {
      return;
    }
    int last = to;
    for (int i = to - 1; i > space; i--) {
      if (text[i] == ' ') {
        last = i;
        break;
      }
    }
    set(Field.METHOD, text, from, space);
    set(Field.TARGET, text, space + 1, last);
  }

  /** The first place of an ASCII character; below 0 if there is none. Eight bytes at a time. */
  static int find(byte[] text, char c, int from, int to) {
    int at = from;
    long pattern = ONES * c;
    for (; at + Long.BYTES <= to; at += Long.BYTES) {
      long differing = (long) EIGHT.get(text, at) ^ pattern;
      // The highest bit of each byte that is zero, and of some behind the first of them.
      long zeros = (differing - ONES) & ~differing & HIGHEST;
      if (zeros != 0) {
        return at + (Long.numberOfTrailingZeros(zeros) >>> 3);
      }
    }
    for (; at < to; at++) {
      if (text[at] == c) {
        return at;
      }
    }
    return -1;
  }

  /** The closing quote of a text that may have quotes after a backslash; below 0 if none. */
  static int closingQuote(byte[] text, int from, int to) {
    for (int at = find(text, '"', from, to); at >= 0; at = find(text, '"', at + 1, to)) {
      int escapes = 0;
      while (at - escapes > from && text[at - escapes - 1] == '\\') {
        escapes++;
      }
      if (escapes % 2 == 0) {
        return at;
      }
    }
    return -1;
  }

  /**
   * Reads times: seconds, milliseconds, microseconds or nanoseconds since the epoch, by their size;
   * ISO 8601; that of combined logs; or a pattern. Times without an offset are of a zone.
   */
  static final class TimeReader {

    private static final long MICROS = 1_000_000;
    private static final long DAY_SECONDS = 86_400;

    /** Seconds of 1973: a smaller number is no time. */
    private static final long LEAST_SECONDS = 100_000_000;

    /** Seconds of the year 5138, or milliseconds of 1973. */
    private static final double MOST_SECONDS = 1e11;

    /** The second pass of a repeated hour begins when times run back by more than this. */
    private static final long BACK_MICROS = 1_800 * MICROS;

    /** Lines of the first pass may follow the first ones of the second by this. */
    private static final long LATE_MICROS = 60 * MICROS;

    private final ZoneId zone;
    private final @Nullable DateTimeFormatter pattern;
    private long lastMicros = NONE;

    TimeReader(ZoneId zone, @Nullable DateTimeFormatter pattern) {
      this.zone = zone;
      this.pattern = pattern;
    }

    /** Returns {@link LogLine#NONE} if it is no time. */
    long read(byte[] text, int from, int to) {
      long micros;
      if (pattern != null) {
        micros = byPattern(pattern, new String(text, from, to - from, StandardCharsets.UTF_8));
      } else if (to - from >= 20 && text[from + 2] == '/') {
        micros = combined(text, from, to);
      } else if (to - from >= 16 && text[from + 4] == '-') {
        micros = iso(text, from, to);
      } else {
        micros = number(text, from, to);
      }
      lastMicros = micros == NONE ? lastMicros : micros;
      return micros;
    }

    /** {@code 10/Oct/2026:13:55:36 -0700}. */
    private long combined(byte[] text, int from, int to) {
      int day = digits(text, from, 2);
      int month = month(text, from + 3);
      int year = digits(text, from + 7, 4);
      int second = clock(text, from + 12);
      if (day < 1 || month < 1 || year < 0 || second < 0 || text[from + 6] != '/') {
        return NONE;
      }
      int at = from + 20;
      int fraction = 0;
      if (at < to && (text[at] == '.' || text[at] == ',')) {
        int end = endOfDigits(text, at + 1, to);
        fraction = fraction(text, at + 1, end);
        at = end;
      }
      while (at < to && text[at] == ' ') {
        at++;
      }
      return micros(year, month, day, second, fraction, text, at, to);
    }

    /** {@code 2026-10-10T13:55:36.123Z}, also with a blank. */
    private long iso(byte[] text, int from, int to) {
      int year = digits(text, from, 4);
      int month = digits(text, from + 5, 2);
      int day = digits(text, from + 8, 2);
      if (year < 0 || month < 1 || month > 12 || day < 1 || text[from + 7] != '-') {
        return NONE;
      }
      boolean seconds = to - from >= 19 && text[from + 16] == ':';
      int second =
          seconds
              ? clock(text, from + 11)
              : 60 * (60 * digits(text, from + 11, 2) + digits(text, from + 14, 2));
      if (second < 0 || text[from + 13] != ':') {
        return NONE;
      }
      int at = from + (seconds ? 19 : 16);
      int fraction = 0;
      if (at < to && (text[at] == '.' || text[at] == ',')) {
        int end = endOfDigits(text, at + 1, to);
        fraction = fraction(text, at + 1, end);
        at = end;
      }
      while (at < to && text[at] == ' ') {
        at++;
      }
      return micros(year, month, day, second, fraction, text, at, to);
    }

    private long micros(
        int year, int month, int day, int second, int fraction, byte[] text, int at, int to) {
      if (day > 28 && day > daysOf(year, month)) {
        return NONE;
      }
      long local = epochDay(year, month, day) * DAY_SECONDS + second;
      if (at == to) {
        return inZone(local, fraction);
      }
      int offset = offset(text, at, to);
      return offset == Integer.MIN_VALUE ? NONE : (local - offset) * MICROS + fraction;
    }

    /** Seconds of {@code Z}, {@code +0100}, {@code +01:00} or {@code +01}. */
    private static int offset(byte[] text, int at, int to) {
      if ((text[at] == 'Z' || text[at] == 'z') && at + 1 == to) {
        return 0;
      }
      int hours = at + 3 <= to ? digits(text, at + 1, 2) : -1;
      int colon = at + 3 < to && text[at + 3] == ':' ? 1 : 0;
      int minutes = at + 3 == to ? 0 : at + 5 + colon == to ? digits(text, at + 3 + colon, 2) : -1;
      if (hours < 0 || hours > 18 || minutes < 0 || minutes > 59) {
        return Integer.MIN_VALUE;
      }
      int seconds = 60 * (60 * hours + minutes);
      return text[at] == '+' ? seconds : text[at] == '-' ? -seconds : Integer.MIN_VALUE;
    }

    /**
     * A local time. Of a repeated hour the first pass, unless times would run back by more than
     * half an hour; in a skipped hour as if the clock had not been set.
     */
    private long inZone(long localSeconds, int fraction) {
      if (zone instanceof ZoneOffset fixed) {
        return (localSeconds - fixed.getTotalSeconds()) * MICROS + fraction;
      }
      LocalDateTime local = LocalDateTime.ofEpochSecond(localSeconds, 0, ZoneOffset.UTC);
      List<ZoneOffset> offsets = zone.getRules().getValidOffsets(local);
      if (offsets.size() < 2) {
        ZoneOffset offset = offsets.isEmpty() ? zone.getRules().getOffset(local) : offsets.get(0);
        return (localSeconds - offset.getTotalSeconds()) * MICROS + fraction;
      }
      long first = (localSeconds - offsets.get(0).getTotalSeconds()) * MICROS + fraction;
      long second = (localSeconds - offsets.get(1).getTotalSeconds()) * MICROS + fraction;
      if (lastMicros == NONE) {
        return first;
      }
      long change = zone.getRules().getTransition(local).toEpochSecond() * MICROS;
      long back = lastMicros >= change ? LATE_MICROS : BACK_MICROS;
      return first < lastMicros - back ? second : first;
    }

    private long byPattern(DateTimeFormatter format, String text) {
      try {
        TemporalAccessor parsed =
            format.parseBest(text, OffsetDateTime::from, ZonedDateTime::from, LocalDateTime::from);
        if (parsed instanceof LocalDateTime local) {
          return inZone(
              local.toEpochSecond(ZoneOffset.UTC), local.get(ChronoField.MICRO_OF_SECOND));
        }
        return parsed.getLong(ChronoField.INSTANT_SECONDS) * MICROS
            + parsed.get(ChronoField.MICRO_OF_SECOND);
      } catch (DateTimeException notThePattern) {
        return NONE;
      }
    }

    private static long number(byte[] text, int from, int to) {
      if (from == to || to - from > 24) {
        return NONE;
      }
      int point = find(text, '.', from, to);
      int end = point < 0 ? to : point;
      if (end - from > 19 || end == from || endOfDigits(text, from, end) != end) {
        return exponent(text, from, to);
      }
      long whole = 0;
      for (int i = from; i < end; i++) {
        whole = whole * 10 + text[i] - '0';
      }
      if (whole < LEAST_SECONDS) {
        return NONE;
      }
      if (whole < MOST_SECONDS) {
        if (point >= 0 && endOfDigits(text, point + 1, to) != to) {
          return exponent(text, from, to);
        }
        return whole * MICROS + (point < 0 ? 0 : fraction(text, point + 1, to));
      }
      return whole < MOST_SECONDS * 1e3
          ? whole * 1_000
          : whole < MOST_SECONDS * 1e6 ? whole : whole / 1_000;
    }

    /** {@code 1.7e9}, as some encoders of JSON write. */
    private static long exponent(byte[] text, int from, int to) {
      for (int i = from; i < to; i++) {
        if ((text[i] < '0' || text[i] > '9') && ".eE+".indexOf(text[i]) < 0) {
          return NONE;
        }
      }
      try {
        double seconds =
            Double.parseDouble(new String(text, from, to - from, StandardCharsets.ISO_8859_1));
        return seconds >= LEAST_SECONDS && seconds < MOST_SECONDS
            ? Math.round(seconds * MICROS)
            : NONE;
      } catch (NumberFormatException notANumber) {
        return NONE;
      }
    }

    private static int endOfDigits(byte[] text, int from, int to) {
      int at = from;
      while (at < to && text[at] >= '0' && text[at] <= '9') {
        at++;
      }
      return at;
    }

    /** Microseconds of the digits after a point. */
    private static int fraction(byte[] text, int from, int to) {
      int micros = 0;
      for (int i = 0; i < 6; i++) {
        micros = micros * 10 + (from + i < to ? text[from + i] - '0' : 0);
      }
      return micros;
    }

    /** Seconds of {@code 13:55:36}; below 0 if it is none. A leap second is the one before. */
    private static int clock(byte[] text, int at) {
      int hour = digits(text, at, 2);
      int minute = digits(text, at + 3, 2);
      int second = digits(text, at + 6, 2);
      if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) {
        return -1;
      }
      return 60 * (60 * hour + minute) + Math.min(second, 59);
    }

    private static int digits(byte[] text, int from, int count) {
      int value = 0;
      for (int i = from; i < from + count; i++) {
        int digit = text[i] - '0';
        if (digit < 0 || digit > 9) {
          return -100_000;
        }
        value = value * 10 + digit;
      }
      return value;
    }

    private static int month(byte[] text, int at) {
      int letters = (text[at] | 32) << 16 | (text[at + 1] | 32) << 8 | (text[at + 2] | 32);
      return switch (letters) {
        case 'j' << 16 | 'a' << 8 | 'n' -> 1;
        case 'f' << 16 | 'e' << 8 | 'b' -> 2;
        case 'm' << 16 | 'a' << 8 | 'r' -> 3;
        case 'a' << 16 | 'p' << 8 | 'r' -> 4;
        case 'm' << 16 | 'a' << 8 | 'y' -> 5;
        case 'j' << 16 | 'u' << 8 | 'n' -> 6;
        case 'j' << 16 | 'u' << 8 | 'l' -> 7;
        case 'a' << 16 | 'u' << 8 | 'g' -> 8;
        case 's' << 16 | 'e' << 8 | 'p' -> 9;
        case 'o' << 16 | 'c' << 8 | 't' -> 10;
        case 'n' << 16 | 'o' << 8 | 'v' -> 11;
        case 'd' << 16 | 'e' << 8 | 'c' -> 12;
        default -> -1;
      };
    }

    private static int daysOf(int year, int month) {
      return switch (month) {
        case 2 -> year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28;
        case 4, 6, 9, 11 -> 30;
        default -> 31;
      };
    }

    /** Days since the epoch of a date of the Gregorian calendar; years begin in March. */
    private static long epochDay(int year, int month, int day) {
      long y = month <= 2 ? year - 1 : year;
      long era = Math.floorDiv(y, 400L);
      long ofEra = y - era * 400;
      long ofYear = (153L * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
      return era * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719_468;
    }
  }
}
