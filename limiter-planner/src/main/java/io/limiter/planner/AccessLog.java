// SPDX-License-Identifier: Apache-2.0
package io.limiter.planner;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.rule.Rule;
import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.StandardOpenOption;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.SortedMap;
import java.util.function.DoubleConsumer;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * The selected calls of an access log, in temporary files that {@link #close} deletes. Times are
 * those of the log; calls of one subject at the same time keep the order of the log.
 */
public final class AccessLog implements Closeable {

  /** The windows of the {@link Demand}: 1 s, 10 s, 1, 5 and 15 minutes, 1 and 6 hours, 1 day. */
  public static final List<Duration> WINDOWS =
      List.of(
          Duration.ofSeconds(1),
          Duration.ofSeconds(10),
          Duration.ofMinutes(1),
          Duration.ofMinutes(5),
          Duration.ofMinutes(15),
          Duration.ofHours(1),
          Duration.ofHours(6),
          Duration.ofDays(1));

  /** The most subjects of a list of the busiest, or of those that are denied most. */
  public static final int TOP = 20;

  /** A log of full seconds has calls of one moment that were up to this apart. */
  static final long SECOND_MICROS = 1_000_000;

  /** One subject makes so many times the calls of the next before it is named apart. */
  private static final int APART = 10;

  /** And this share of all calls. */
  private static final double APART_SHARE = 0.01;

  private final Spool spool;
  private final Summary summary;
  private final Names names;
  private final Calls calls;
  private final List<Duration> windows;
  private final long redisPeak;

  /**
   * What was read.
   *
   * @param formats the formats that were read, by their names
   * @param lines all lines that are not blank
   * @param unreadable lines that could not be read; those of the first few are in {@code examples}
   * @param tooLong lines longer than 1 MB, which are among the unreadable
   * @param otherCalls calls that were not selected: another path or method
   * @param leftOut selected calls that were left out: denied by today's limiter, or without a
   *     subject
   * @param anonymous selected calls without the subject, which are counted by their address
   * @param outOfOrder selected calls that are earlier than one before them
   * @param calls the calls that are replayed
   * @param statuses how many of them had each status
   * @param deniedToday calls with a status of today's limiter, replayed or left out
   * @param policy the policy of a recorded log; empty for other logs
   * @param outcomes how many selected calls of a recorded log had each outcome
   * @param wholeSeconds whether all times are full seconds
   * @param wholeSecondCalls how many are
   * @param first the earliest call
   * @param last the latest call
   * @param peakPerSecond the most calls of one second
   * @param examples the first unreadable lines, cut
   */
  public record Summary(
      Set<String> formats,
      long lines,
      long unreadable,
      long tooLong,
      long otherCalls,
      long leftOut,
      long anonymous,
      long outOfOrder,
      long calls,
      SortedMap<Integer, Long> statuses,
      long deniedToday,
      Optional<String> policy,
      SortedMap<String, Long> outcomes,
      boolean wholeSeconds,
      long wholeSecondCalls,
      Instant first,
      Instant last,
      long peakPerSecond,
      List<String> examples) {

    /** The time from the first to the last call. */
    public Duration span() {
      return Duration.between(first, last);
    }
  }

  /**
   * A subject, by its name in what is written.
   *
   * @param name a hash, or the text if texts are shown
   * @param calls its calls
   * @param units their costs
   */
  public record BusySubject(String name, long calls, long units) {}

  /** What every pass over the calls needs to know. */
  record Calls(
      long subjects,
      long units,
      Timeline timeline,
      List<Busy> busiest,
      boolean wholeSeconds,
      long firstMicros,
      long lastMicros) {

    /** The subject that is named apart from the rest. */
    Optional<Busy> apart() {
      if (busiest.size() < 2) {
        return Optional.empty();
      }
      Busy first = busiest.get(0);
      return first.units >= APART * busiest.get(1).units && first.units >= APART_SHARE * units
          ? Optional.of(first)
          : Optional.empty();
    }
  }

  record Busy(long subject, long calls, long units) {}

  /** Counts by time, in at most some thousand slots of equal length. */
  static final class Timeline {

    private static final long[] SLOTS = {60, 3_600, 86_400, 7 * 86_400, 30 * 86_400};
    private static final int MAX_SLOTS = 20_000;
    private static final long SHORT_SECONDS = 3 * 3_600;

    final long firstMicros;
    final long slotMicros;
    final long[] calls;

    /** Slots of an hour; of a minute for less than three hours, of days for years. */
    Timeline(long firstMicros, long lastMicros) {
      long seconds = (lastMicros - firstMicros) / SECOND_MICROS;
      int slot = seconds < SHORT_SECONDS ? 0 : 1;
      while (slot < SLOTS.length - 1 && seconds / SLOTS[slot] >= MAX_SLOTS) {
        slot++;
      }
      this.slotMicros = Math.max(SLOTS[slot], seconds / MAX_SLOTS) * SECOND_MICROS;
      this.firstMicros = Math.floorDiv(firstMicros, slotMicros) * slotMicros;
      this.calls = new long[(int) ((lastMicros - this.firstMicros) / slotMicros) + 1];
    }

    int slot(long micros) {
      return (int) ((micros - firstMicros) / slotMicros);
    }

    Instant time(int slot) {
      return instant(firstMicros + slot * slotMicros);
    }
  }

  AccessLog(Spool spool, Summary summary, Names names, List<Duration> windows) {
    this.spool = spool;
    this.summary = summary;
    this.names = names;
    this.windows = windows;
    this.redisPeak = summary.peakPerSecond();
    this.calls = scan();
  }

  /** Starts to read a log. */
  public static LogReader reader() {
    return new LogReader();
  }

  /** What was read. */
  public Summary summary() {
    return summary;
  }

  /** The number of subjects. */
  public long subjects() {
    return calls.subjects();
  }

  /** The sum of all costs. */
  public long units() {
    return calls.units();
  }

  /** The subjects with the most units, at most {@value #TOP}. */
  public List<BusySubject> busiest() {
    Map<Long, String> texts = names.of(calls.busiest().stream().map(Busy::subject).toList());
    return calls.busiest().stream()
        .map(
            busy ->
                new BusySubject(texts.getOrDefault(busy.subject(), ""), busy.calls(), busy.units()))
        .toList();
  }

  /**
   * The one subject that makes ten times the calls of the next, and one in a hundred of all: what
   * is right for it is not for the rest, so that it is named apart.
   */
  public Optional<BusySubject> apart() {
    return calls.apart().isPresent() ? Optional.of(busiest().get(0)) : Optional.empty();
  }

  /** The largest numbers of calls in windows. */
  public Demand demand() {
    return Demand.of(this);
  }

  /**
   * Replays all calls under some rules of one stack.
   *
   * @throws IllegalArgumentException if they cannot be one stack
   */
  public Replay replay(List<? extends Rule> rules) {
    return replay(ReplayedRules.of(rules));
  }

  /** Replays all calls under some rules. */
  public Replay replay(ReplayedRules rules) {
    return Replay.of(this, rules);
  }

  /** Searches the smallest rules that reach a goal, for each window and algorithm. */
  public List<Proposal> propose(Goal goal) {
    return propose(goal, share -> {});
  }

  /**
   * Searches the smallest rules that reach a goal.
   *
   * @param progress receives the share of searches that are done
   */
  public List<Proposal> propose(Goal goal, DoubleConsumer progress) {
    return Proposal.search(this, goal, progress);
  }

  Calls calls() {
    return calls;
  }

  long peakPerSecond() {
    return redisPeak;
  }

  Names names() {
    return names;
  }

  /** The windows whose demand is known. */
  List<Duration> windows() {
    return windows;
  }

  /** The shortest ones, and those that the log has whole, but for a hundredth. */
  boolean isCovered(Duration window) {
    return window.compareTo(WINDOWS.get(1)) <= 0
        || summary.span().multipliedBy(100).compareTo(window.multipliedBy(99)) >= 0;
  }

  /** Visits subjects; of each window first the least demand that the times allow, then the most. */
  void visit(Spool.Visitor visitor) {
    spool.visit(visitor, 2 * windows.size());
  }

  /**
   * The windows in which calls of the log are counted to know the demand in windows of the service.
   * With whole seconds, a window of the service has at least the calls of as many seconds of the
   * log, and at most those of one more.
   */
  static long[] counted(List<Duration> windows, boolean wholeSeconds) {
    long[] micros = new long[2 * windows.size()];
    for (int w = 0; w < windows.size(); w++) {
      long window = MICROSECONDS.convert(windows.get(w));
      micros[2 * w] = window;
      micros[2 * w + 1] = wholeSeconds ? window + SECOND_MICROS : window;
    }
    return micros;
  }

  private Calls scan() {
    long first = micros(summary.first());
    long last = micros(summary.last());
    Timeline timeline = new Timeline(first, last);
    PriorityQueue<Busy> most =
        new PriorityQueue<>(Comparator.comparingLong(Busy::units).thenComparingLong(Busy::subject));
    long[] sums = new long[2];
    visit(
        new Spool.Visitor() {
          @Override
          public boolean begin(long subject, long count, long units, long[] demand) {
            sums[0]++;
            sums[1] += units;
            if (most.size() < TOP || units > most.element().units()) {
              most.add(new Busy(subject, count, units));
              if (most.size() > TOP) {
                most.remove();
              }
            }
            return true;
          }

          @Override
          public void call(long micros, int cost, byte flags) {
            timeline.calls[timeline.slot(micros)]++;
          }

          @Override
          public void end() {}
        });
    List<Busy> busiest = new ArrayList<>(most);
    busiest.sort(Comparator.comparingLong(Busy::units).reversed().thenComparingLong(Busy::subject));
    return new Calls(sums[0], sums[1], timeline, busiest, summary.wholeSeconds(), first, last);
  }

  static long micros(Instant time) {
    return time.getEpochSecond() * SECOND_MICROS + time.getNano() / 1_000;
  }

  static Instant instant(long micros) {
    return Instant.ofEpochSecond(
        Math.floorDiv(micros, SECOND_MICROS), Math.floorMod(micros, SECOND_MICROS) * 1_000);
  }

  @Override
  public void close() {
    names.close();
    spool.close();
  }

  /**
   * The names of subjects: hashes with a key, or texts, which are written to a file as they are
   * read. A subject may be there several times.
   */
  static final class Names implements Closeable {

    private static final int RECENT = 1 << 16;
    private static final int MAX_TEXT = 200;
    private static final int HASH_BYTES = 6;

    private final Spool spool;
    private final SecretKeySpec key;
    private final boolean shown;
    private final long[] recent;
    private final ByteBuffer buffer = ByteBuffer.allocate(1 << 15);
    private final Set<FileChannel> channel = new HashSet<>();

    Names(Spool spool, byte[] key, boolean shown) throws IOException {
      this.spool = spool;
      this.key = new SecretKeySpec(key, "HmacSHA256");
      this.shown = shown;
      this.recent = new long[shown ? RECENT : 0];
      if (shown) {
        channel.add(
            FileChannel.open(
                spool.file("names"), StandardOpenOption.CREATE, StandardOpenOption.WRITE));
      }
    }

    /** Whether the text of the subject is to be noted. */
    boolean wants(long subject) {
      if (!shown) {
        return false;
      }
      int slot = (int) subject & (RECENT - 1);
      boolean known = recent[slot] == subject;
      recent[slot] = subject;
      return !known;
    }

    void note(long subject, String text) throws IOException {
      byte[] bytes =
          (text.length() > MAX_TEXT ? text.substring(0, MAX_TEXT) + "…" : text)
              .getBytes(StandardCharsets.UTF_8);
      if (buffer.remaining() < 12 + bytes.length) {
        flush();
      }
      buffer.putLong(subject).putInt(bytes.length).put(bytes);
    }

    void flush() throws IOException {
      buffer.flip();
      for (FileChannel to : channel) {
        while (buffer.hasRemaining()) {
          to.write(buffer);
        }
      }
      buffer.clear();
    }

    Map<Long, String> of(List<Long> subjects) {
      Map<Long, String> found = new HashMap<>();
      for (long subject : subjects) {
        found.put(subject, hashed(subject));
      }
      if (shown) {
        try (Spool.Input input = new Spool.Input(spool.file("names"))) {
          while (input.has(12)) {
            long subject = input.buffer.getLong();
            byte[] text = new byte[input.buffer.getInt()];
            input.require(text.length);
            input.buffer.get(text);
            found.computeIfPresent(
                subject, (any, before) -> new String(text, StandardCharsets.UTF_8));
          }
        } catch (IOException unreadable) {
          throw new UncheckedIOException(unreadable);
        }
      }
      return found;
    }

    /** Not reversible without the key, which is random unless it is given. */
    private String hashed(long subject) {
      try {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(key);
        byte[] hash = mac.doFinal(ByteBuffer.allocate(8).putLong(subject).array());
        return HexFormat.of().formatHex(hash, 0, HASH_BYTES);
      } catch (GeneralSecurityException missing) {
        throw new IllegalStateException("Every JDK has HmacSHA256", missing);
      }
    }

    @Override
    public void close() {
      for (FileChannel open : channel) {
        try {
          open.close();
        } catch (IOException ignored) {
          // the file is deleted next
        }
      }
    }
  }
}
