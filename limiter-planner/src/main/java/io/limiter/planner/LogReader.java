// SPDX-License-Identifier: Apache-2.0
package io.limiter.planner;

import io.limiter.core.Charge;
import io.limiter.core.rule.Rule;
import io.limiter.planner.LogFormat.LineReader;
import io.limiter.planner.LogLine.Field;
import io.limiter.planner.LogLine.TimeReader;
import java.io.BufferedInputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.LongConsumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import java.util.zip.GZIPInputStream;
import org.jspecify.annotations.Nullable;

/**
 * Reads access logs: which format, which calls of it, and who is counted. Lines that cannot be read
 * are counted, and are no error.
 */
public final class LogReader {

  /** The longest line; longer ones are not read. */
  public static final int MAX_LINE = 1 << 20;

  /** The standard input in place of a file. */
  public static final Path STANDARD_INPUT = Path.of("-");

  private static final int BUFFER = MAX_LINE + 1;
  private static final int EXAMPLES = 3;
  private static final int EXAMPLE_CHARACTERS = 200;
  private static final int TRIED_LINES = 100;
  private static final int TRIED_BYTES = 1 << 16;
  private static final int MAX_HOPS = 32;

  /** Policies of a recorded log that messages name. */
  private static final int MAX_POLICIES = 100;

  /**
   * The last one is a call that something else has denied, so that its policy has not counted it.
   */
  private static final Set<String> OUTCOMES =
      Set.of("admitted", "denied", "observed", "trial", "other");

  private LogFormat format = LogFormat.AUTO;
  private final Map<Field, String> names = new EnumMap<>(Field.class);
  private String timeName = "";
  private @Nullable DateTimeFormatter timePattern;
  private ZoneId zone = ZoneOffset.UTC;
  private final List<Pattern> paths = new ArrayList<>();
  private final List<Pattern> excepted = new ArrayList<>();
  private final Set<String> methods = new TreeSet<>();
  private @Nullable String policy;
  private SubjectKind subject = SubjectKind.IP;
  private @Nullable Pattern group;
  private Address.Networks trusted = new Address.Networks(List.of());
  private boolean anonymousLeftOut;
  private Statuses failed = Statuses.parse("400-599");
  private Statuses denied = Statuses.parse("429");
  private boolean deniedLeftOut;
  private boolean shown;
  private byte[] key = new byte[16];
  private Path directory = Path.of(System.getProperty("java.io.tmpdir"));
  private int maxInMemory = Spool.MAX_IN_MEMORY;
  private List<Duration> windows = AccessLog.WINDOWS;
  private LongConsumer progress = bytes -> {};

  LogReader() {
    new SecureRandom().nextBytes(key);
  }

  private enum SubjectKind {
    IP,
    USER,
    FIELD,
    REGEX,
    ALL
  }

  /** Status codes as ranges, such as {@code 401,403,500-599}. */
  private record Statuses(BitSet codes) {

    private static final int MOST = 1_000;

    static Statuses parse(String written) {
      BitSet codes = new BitSet(MOST);
      if (written.trim().equalsIgnoreCase("none")) {
        return new Statuses(codes);
      }
      for (String range : written.split(",")) {
        Matcher numbers = Pattern.compile("\\s*(\\d{3})(?:-(\\d{3}))?\\s*").matcher(range);
        if (!numbers.matches()) {
          throw new IllegalArgumentException(
              "The statuses '%s' cannot be read: use codes and ranges such as 401,403,500-599, or none"
                  .formatted(written));
        }
        int first = Integer.parseInt(numbers.group(1));
        int last = numbers.group(2) == null ? first : Integer.parseInt(numbers.group(2));
        if (last < first) {
          throw new IllegalArgumentException(
              "The statuses '%s' have a range that ends before it begins: swap its numbers"
                  .formatted(written));
        }
        codes.set(first, last + 1);
      }
      return new Statuses(codes);
    }

    boolean has(int status) {
      return status >= 0 && codes.get(status);
    }
  }

  /** The format; found out by default. */
  public LogReader format(LogFormat other) {
    format = other;
    return this;
  }

  /**
   * Where a field is, if it is not where the format has it: the name of a member of JSON, with
   * points for members of members; of a column of CSV; or of a column behind the status.
   *
   * @param field {@code time}, {@code address}, {@code user}, {@code method}, {@code path}, {@code
   *     status}, {@code forwarded} or {@code cost}
   * @throws IllegalArgumentException if there is no such field
   */
  public LogReader field(String field, String name) {
    switch (field.toLowerCase(Locale.ROOT)) {
      case "time" -> timeName = name;
      case "address" -> names.put(Field.ADDRESS, name);
      case "user" -> names.put(Field.USER, name);
      case "method" -> names.put(Field.METHOD, name);
      case "path" -> names.put(Field.TARGET, name);
      case "status" -> names.put(Field.STATUS, name);
      case "forwarded" -> names.put(Field.FORWARDED, name);
      case "cost" -> names.put(Field.COST, name);
      default ->
          throw new IllegalArgumentException(
              "The field '%s' is unknown: use time, address, user, method, path, status, forwarded or cost"
                  .formatted(field));
    }
    return this;
  }

  /**
   * How times are written, if they are not recognized: a pattern of {@link DateTimeFormatter}.
   *
   * @throws IllegalArgumentException if it is none
   */
  public LogReader timePattern(String pattern) {
    try {
      timePattern = DateTimeFormatter.ofPattern(pattern, Locale.ROOT);
    } catch (IllegalArgumentException mistake) {
      throw new IllegalArgumentException(
          "The time pattern '%s' cannot be read: %s; use letters of DateTimeFormatter, such as yyyy-MM-dd HH:mm:ss"
              .formatted(pattern, mistake.getMessage()),
          mistake);
    }
    return this;
  }

  /** The zone of times without an offset; UTC by default. */
  public LogReader zone(ZoneId other) {
    zone = other;
    return this;
  }

  /**
   * Selects calls whose path matches one of the patterns; all calls by default. An Ant pattern, in
   * which {@code *} is one segment and {@code **} any number, as under {@code limiter.routes}.
   */
  public LogReader path(String pattern) {
    paths.add(ant(pattern));
    return this;
  }

  /** Leaves out calls whose path matches. */
  public LogReader except(String pattern) {
    excepted.add(ant(pattern));
    return this;
  }

  /** Selects calls of some methods, of which {@code GET} includes {@code HEAD}. */
  public LogReader method(String method) {
    String upper = method.trim().toUpperCase(Locale.ROOT);
    methods.add(upper);
    if (upper.equals("GET")) {
      methods.add("HEAD");
    }
    return this;
  }

  /**
   * Selects the calls of one policy of a recorded log, in which a policy that counts several
   * subjects has several names, such as {@code login:IP}. Other logs have no policies.
   */
  public LogReader policy(String name) {
    policy = name;
    return this;
  }

  /**
   * Who is counted: {@code ip}, the default, by which an IPv6 address is cut to its /64; {@code
   * user}; {@code field:NAME}, a member of JSON or a column; {@code regex:PATTERN}, the first group
   * of a pattern that is searched in each line; {@code all} calls together. A recorded log has the
   * subjects of the service in place of addresses.
   *
   * @throws IllegalArgumentException if it is none of these
   */
  public LogReader subject(String who) {
    String kind = who.toLowerCase(Locale.ROOT);
    if (kind.equals("ip") || kind.equals("user") || kind.equals("all")) {
      subject = SubjectKind.valueOf(kind.toUpperCase(Locale.ROOT));
    } else if (kind.startsWith("field:") && who.length() > 6) {
      subject = SubjectKind.FIELD;
      names.put(Field.SUBJECT, who.substring(6));
    } else if (kind.startsWith("regex:") && who.length() > 6) {
      subject = SubjectKind.REGEX;
      group = regex(who.substring(6));
    } else {
      throw new IllegalArgumentException(
          "The subject '%s' is unknown: use ip, user, field:NAME, regex:PATTERN or all"
              .formatted(who));
    }
    return this;
  }

  private static Pattern regex(String written) {
    try {
      Pattern pattern = Pattern.compile(written);
      if (pattern.matcher("").groupCount() == 0) {
        throw new IllegalArgumentException(
            "The pattern '%s' has no group: put what names the subject in parentheses"
                .formatted(written));
      }
      return pattern;
    } catch (PatternSyntaxException mistake) {
      throw new IllegalArgumentException(
          "The pattern '%s' cannot be read: %s".formatted(written, mistake.getDescription()),
          mistake);
    }
  }

  /**
   * The proxies whose reports of the client are trusted, as {@code
   * limiter.address.trusted-proxies}: addresses and networks. The client is the first address from
   * the right, in the field {@code forwarded}, that is none of them.
   *
   * @throws IllegalArgumentException with the value and the remedy
   */
  public LogReader trustedProxies(List<String> networks) {
    trusted = new Address.Networks(networks);
    return this;
  }

  /** Leaves out calls without the subject; by default they are counted by their address. */
  public LogReader leaveOutAnonymous(boolean leaveOut) {
    anonymousLeftOut = leaveOut;
    return this;
  }

  /**
   * Statuses that are failures, 400-599 by default.
   *
   * @throws IllegalArgumentException if they cannot be read
   */
  public LogReader failedStatuses(String statuses) {
    failed = Statuses.parse(statuses);
    return this;
  }

  /**
   * Statuses by which today's limiter denied calls, 429 by default; {@code none} if there is no
   * limiter.
   *
   * @param leaveOut whether these calls are left out; by default they are replayed, since the new
   *     limit would see them too
   * @throws IllegalArgumentException if they cannot be read
   */
  public LogReader deniedStatuses(String statuses, boolean leaveOut) {
    denied = Statuses.parse(statuses);
    deniedLeftOut = leaveOut;
    return this;
  }

  /** Shows subjects as they are in the log, in place of hashes. */
  public LogReader showSubjects(boolean show) {
    shown = show;
    return this;
  }

  /** The key of the hashes of subjects; random by default, so that no two runs have equal ones. */
  public LogReader salt(String salt) {
    if (salt.isEmpty()) {
      throw new IllegalArgumentException("The salt is empty: use some characters");
    }
    key = salt.getBytes(StandardCharsets.UTF_8);
    return this;
  }

  /**
   * Where temporary files are, about 40 bytes a call and 150 a subject; {@code java.io.tmpdir} by
   * default.
   */
  public LogReader directory(Path other) {
    directory = other;
    return this;
  }

  /** Receives the bytes read of the files so far, from time to time. */
  public LogReader progress(LongConsumer listener) {
    progress = listener;
    return this;
  }

  /** The windows of the demand and of proposals, {@link AccessLog#WINDOWS} by default. */
  public LogReader windows(List<Duration> other) {
    if (other.isEmpty() || other.size() > 20) {
      throw new IllegalArgumentException("%s windows: use 1 to 20".formatted(other.size()));
    }
    for (Duration window : other) {
      if (window.compareTo(Rule.MIN_WINDOW) < 0 || window.compareTo(Rule.MAX_WINDOW) > 0) {
        throw new IllegalArgumentException(
            "The window %s is none of a rule: use 1 ms to 366 days".formatted(RuleText.of(window)));
      }
    }
    windows = List.copyOf(other);
    return this;
  }

  /** For tests: a part of more calls is divided, or sorted outside of memory. */
  LogReader maxInMemory(int calls) {
    maxInMemory = calls;
    return this;
  }

  /**
   * Reads logs, each of them also compressed by gzip.
   *
   * @throws LogException if none of their calls can be read or is selected
   * @throws IOException if a file cannot be read
   */
  public AccessLog read(Path... files) throws IOException {
    if (group == null && subject == SubjectKind.REGEX) {
      throw new IllegalStateException("a regular expression without a pattern");
    }
    Spool spool = spool();
    try {
      AccessLog.Names texts = new AccessLog.Names(spool, key, shown);
      Run run = new Run(spool, texts);
      for (Path file : files) {
        run.read(file);
      }
      return new AccessLog(spool, run.finish(files), texts, windows);
    } catch (IOException | RuntimeException failed) {
      spool.close();
      throw failed;
    }
  }

  private Spool spool() throws IOException {
    try {
      return new Spool(directory, maxInMemory);
    } catch (IOException missing) {
      throw new LogException(
          "No temporary files can be created in '%s': use another directory by --temp (%s)"
              .formatted(directory, missing));
    }
  }

  /** An Ant pattern as a regular expression. */
  private static Pattern ant(String pattern) {
    if (!pattern.startsWith("/")) {
      throw new IllegalArgumentException(
          "The path '%s' does not begin with a slash: use a pattern such as /search/**"
              .formatted(pattern));
    }
    if (pattern.contains("{")) {
      throw new IllegalArgumentException(
          "The path '%s' has variables: use * in their place, as in /users/*/orders"
              .formatted(pattern));
    }
    StringBuilder regex = new StringBuilder();
    for (int at = 0; at < pattern.length(); at++) {
      if (pattern.startsWith("/**", at)
          && (at + 3 == pattern.length() || pattern.charAt(at + 3) == '/')) {
        regex.append("(?:/.*)?"); // a repeated group would need stack for each segment
        at += 2;
      } else if (pattern.charAt(at) == '*') {
        regex.append("[^/]*");
      } else if (pattern.charAt(at) == '?') {
        regex.append("[^/]");
      } else {
        regex.append(Pattern.quote(pattern.substring(at, at + 1)));
      }
    }
    return Pattern.compile(regex.toString(), Pattern.DOTALL);
  }

  /** One pass over the files. */
  private final class Run {

    private final Spool spool;
    private final AccessLog.Names texts;
    private final LogLine line = new LogLine();
    private final Address address = new Address();
    private final Address hop = new Address();
    private final Set<String> formats = new TreeSet<>();
    private final long[] statuses = new long[Statuses.MOST + 1];
    private final List<String> examples = new ArrayList<>();
    private final byte[] buffer = new byte[BUFFER];
    private final Peak peak = new Peak();

    private @Nullable LineReader lines;
    private boolean beginning;
    private String firstLine = "";
    private String firstTarget = "";
    private final SortedMap<String, Long> policies = new TreeMap<>();
    private final SortedMap<String, Long> outcomes = new TreeMap<>();
    private long read;
    private long count;
    private long unreadable;
    private long tooLong;
    private long others;
    private long leftOut;
    private long withoutSubject;
    private long anonymous;
    private long outOfOrder;
    private long calls;
    private long deniedToday;
    private long wholeSeconds;
    private long first = Long.MAX_VALUE;
    private long last = Long.MIN_VALUE;

    Run(Spool spool, AccessLog.Names texts) {
      this.spool = spool;
      this.texts = texts;
    }

    void read(Path file) throws IOException {
      boolean standard = file.equals(STANDARD_INPUT);
      if (!standard && Files.isDirectory(file)) {
        throw new LogException("'%s' is a directory: name the files in it".formatted(file));
      }
      try (InputStream raw = standard ? standardInput() : Files.newInputStream(file);
          InputStream in = decoded(counted(raw, file), file)) {
        lines = format == LogFormat.AUTO ? null : reader(format);
        beginning = true;
        readLines(in);
      } catch (NoSuchFileException missing) {
        throw new LogException("The log '%s' does not exist".formatted(file));
      } catch (AccessDeniedException denied) {
        throw new LogException(
            "The log '%s' cannot be read without permission: read it as another user, or a copy"
                .formatted(file));
      }
    }

    /** Stays open: where the process has none, its number is that of a file of the JVM. */
    private InputStream standardInput() {
      return new FilterInputStream(System.in) {
        @Override
        public void close() {}
      };
    }

    private LineReader reader(LogFormat one) {
      if (one == LogFormat.RECORDER) {
        requireRecorded();
      }
      if (one != LogFormat.AUTO) {
        formats.add(one.toString());
      }
      return LineReader.of(one, names, timeName, new TimeReader(zone, timePattern));
    }

    /** What is asked of the log is there. */
    private void requireRecorded() {
      if (subject != SubjectKind.IP && subject != SubjectKind.ALL) {
        throw new IllegalArgumentException(
            "The subjects of a recorded log are those of the service: remove --subject, or use all");
      }
      if (!names.isEmpty() || !timeName.isEmpty()) {
        throw new IllegalArgumentException(
            "The fields of a recorded log are fixed: remove --field");
      }
      if (!(paths.isEmpty() && excepted.isEmpty() && methods.isEmpty() && trusted.isEmpty())) {
        throw new IllegalArgumentException(
            "A recorded log has neither paths and methods nor addresses: select calls by --policy");
      }
    }

    private InputStream counted(InputStream raw, Path file) {
      return new InputStream() {
        @Override
        public int read() throws IOException {
          int next = raw.read();
          read += next < 0 ? 0 : 1;
          return next;
        }

        @Override
        public int read(byte[] to, int offset, int length) throws IOException {
          int bytes;
          try {
            bytes = raw.read(to, offset, length);
          } catch (IOException broken) {
            throw new LogException(
                "The log '%s' cannot be read: %s; read a copy".formatted(file, broken));
          }
          read += Math.max(0, bytes);
          progress.accept(read);
          return bytes;
        }

        @Override
        public void close() throws IOException {
          raw.close();
        }
      };
    }

    private InputStream decoded(InputStream raw, Path file) throws IOException {
      BufferedInputStream in = new BufferedInputStream(raw, 1 << 16);
      in.mark(2);
      boolean gzip = in.read() == 0x1f && in.read() == 0x8b;
      in.reset();
      if (!gzip) {
        return in;
      }
      try {
        return new GZIPInputStream(in, 1 << 16);
      } catch (IOException broken) {
        throw new LogException(
            "The log '%s' begins as gzip, but cannot be read: %s"
                .formatted(file, broken.getMessage()));
      }
    }

    private void readLines(InputStream in) throws IOException {
      int begin = 0;
      int scanned = 0;
      int filled = 0;
      boolean skipping = false;
      while (true) {
        if (filled == buffer.length) {
          if (begin == 0) {
            skipping = skipping || skip();
            filled = 0;
            scanned = 0;
          } else {
            System.arraycopy(buffer, begin, buffer, 0, filled - begin);
            filled -= begin;
            scanned -= begin;
            begin = 0;
          }
        }
        int bytes = read(in, filled);
        filled += Math.max(0, bytes);
        if (lines == null) {
          int end = LogLine.find(buffer, '\n', scanned, filled);
          if (skipping && end >= 0) {
            begin = end + 1;
            scanned = begin;
            skipping = false;
          }
          boolean last = bytes < 0 || (filled == buffer.length && begin == 0);
          if ((end >= 0 || bytes < 0) && !choose(begin, filled, last)) {
            continue;
          }
        }
        for (int end = LogLine.find(buffer, '\n', scanned, filled);
            end >= 0;
            end = LogLine.find(buffer, '\n', begin, filled)) {
          if (!skipping) {
            line(begin, end);
          }
          skipping = false;
          begin = end + 1;
        }
        scanned = filled;
        if (bytes < 0) {
          if (filled > begin && !skipping) {
            line(begin, filled);
          }
          return;
        }
      }
    }

    private int read(InputStream in, int at) throws IOException {
      try {
        return in.read(buffer, at, buffer.length - at);
      } catch (java.util.zip.ZipException | java.io.EOFException cut) {
        // A log that is still being compressed, or was cut: what came before it is there.
        unreadable++;
        count++;
        // First, since lines that are lost are more than one that cannot be read.
        examples.add(0, "(a compressed log is cut or damaged: " + cut.getMessage() + ")");
        if (examples.size() > EXAMPLES) {
          examples.remove(EXAMPLES);
        }
        firstLine = firstLine.isEmpty() ? examples.get(0) : firstLine;
        return -1;
      }
    }

    private boolean skip() {
      count++;
      unreadable++;
      tooLong++;
      example(text(0, EXAMPLE_CHARACTERS));
      return true;
    }

    private String text(int from, int to) {
      int end = Math.min(to, from + EXAMPLE_CHARACTERS);
      String text = new String(buffer, from, end - from, StandardCharsets.UTF_8);
      return text.replaceAll("\\p{Cntrl}", "·") + (end < to ? "…" : "");
    }

    private void example(String text) {
      if (firstLine.isEmpty()) {
        firstLine = text;
      }
      if (examples.size() < EXAMPLES) {
        examples.add(text);
      }
    }

    /**
     * Tries the first lines in each format. Returns false if more lines may show which it is.
     *
     * @param last whether no more can be looked at
     */
    private boolean choose(int begin, int filled, boolean last) {
      if (!last && filled - begin < TRIED_BYTES) {
        return false;
      }
      LogFormat best = LogFormat.AUTO;
      int most = 0;
      for (LogFormat one : LogFormat.values()) {
        int readable = one == LogFormat.AUTO ? 0 : readable(one, begin, filled);
        if (readable > most) {
          most = readable;
          best = one;
        }
      }
      if (most == 0 && !last) {
        return false;
      }
      lines = most > 0 ? reader(best) : (text, from, to, any) -> false;
      return true;
    }

    private int readable(LogFormat one, int begin, int filled) {
      LineReader tried;
      int readable = 0;
      try {
        tried = LineReader.of(one, names, timeName, new TimeReader(zone, timePattern));
        int from = skipMark(begin, filled);
        boolean head = one == LogFormat.CSV || one == LogFormat.RECORDER;
        for (int tries = 0; tries < TRIED_LINES && from < filled; tries++) {
          int end = LogLine.find(buffer, '\n', from, filled);
          end = end < 0 ? filled : end;
          int to = end > from && buffer[end - 1] == '\r' ? end - 1 : end;
          if (head && to > from) {
            if (!tried.header(buffer, from, to)) {
              return 0;
            }
            head = false;
            readable += one == LogFormat.RECORDER ? 1 : 0; // no other format begins so
          } else if (to > from) {
            line.clear();
            readable += tried.read(buffer, from, to, line) && isUseful() ? 1 : 0;
          }
          from = end + 1;
        }
      } catch (IllegalArgumentException notThisFormat) {
        return 0;
      }
      return readable;
    }

    /** Whether a line has more than a time. */
    private boolean isUseful() {
      return line.has(Field.ADDRESS)
          || line.has(Field.FORWARDED)
          || line.has(Field.TARGET)
          || line.has(Field.USER)
          || line.has(Field.SUBJECT)
          || line.has(Field.STATUS);
    }

    private int skipMark(int from, int to) {
      boolean mark =
          to - from >= 3
              && buffer[from] == (byte) 0xEF
              && buffer[from + 1] == (byte) 0xBB
              && buffer[from + 2] == (byte) 0xBF;
      return mark ? from + 3 : from;
    }

    private void line(int begin, int end) throws IOException {
      int from = beginning ? skipMark(begin, end) : begin;
      int to = end > from && buffer[end - 1] == '\r' ? end - 1 : end;
      if (from == to) {
        return;
      }
      LineReader reader = lines;
      if (reader == null) {
        throw new IllegalStateException("no format");
      }
      if (beginning || reader.repeatsHeader()) {
        beginning = false;
        if (reader.header(buffer, from, to)) {
          return;
        }
      }
      count++;
      line.clear();
      if (!reader.read(buffer, from, to, line)) {
        unreadable++;
        if (examples.size() < EXAMPLES) {
          example(text(from, to));
        }
        return;
      }
      call(from, to);
    }

    private void call(int from, int to) throws IOException {
      boolean recorded = line.has(Field.POLICY);
      if (recorded ? !isOfPolicy() : !selected()) {
        others++;
        return;
      }
      int status = line.number(Field.STATUS);
      boolean wasDenied = denied.has(status);
      boolean wasCounted = true;
      if (recorded) {
        String outcome = line.text(Field.OUTCOME);
        if (!OUTCOMES.contains(outcome)) {
          unreadable++;
          example("(outcome) " + text(from, to));
          return;
        }
        wasDenied = outcome.equals("denied");
        wasCounted = !outcome.equals("other");
      }
      int cost = 1;
      if (line.has(Field.COST)) {
        cost = line.number(Field.COST);
        if (cost < 0 || cost > Charge.MAX_COST) {
          unreadable++;
          example("(cost) " + text(from, to));
          return;
        }
      }
      if (recorded) {
        outcomes.merge(line.text(Field.OUTCOME), 1L, Long::sum);
      }
      deniedToday += wasDenied ? 1 : 0;
      long who = (wasDenied && deniedLeftOut) || !wasCounted ? 0 : subject(from, to);
      if (who == 0 || cost == 0) {
        leftOut++;
        return;
      }
      byte flags =
          (byte) ((failed.has(status) ? Spool.FAILED : 0) | (wasDenied ? Spool.DENIED : 0));
      long micros = line.micros;
      outOfOrder += micros < last ? 1 : 0;
      first = Math.min(first, micros);
      last = Math.max(last, micros);
      wholeSeconds += micros % AccessLog.SECOND_MICROS == 0 ? 1 : 0;
      peak.count(Math.floorDiv(micros, AccessLog.SECOND_MICROS));
      statuses[status >= 0 && status < Statuses.MOST ? status : Statuses.MOST]++;
      calls++;
      spool.add(micros, who, cost, flags);
    }

    /** Of one policy; finish() asks which, if there are several. */
    private boolean isOfPolicy() {
      String name = line.text(Field.POLICY);
      if (policies.size() < MAX_POLICIES || name.equals(policy) || policies.containsKey(name)) {
        policies.merge(name, 1L, Long::sum);
      }
      return name.equals(policy == null ? policies.firstKey() : policy);
    }

    private boolean selected() {
      if (!methods.isEmpty()
          && !methods.contains(line.text(Field.METHOD).toUpperCase(Locale.ROOT))) {
        return false;
      }
      if (paths.isEmpty() && excepted.isEmpty()) {
        return true;
      }
      String path = path();
      if (firstTarget.isEmpty()) {
        firstTarget = path;
      }
      boolean matches = paths.isEmpty();
      for (Pattern pattern : paths) {
        matches |= pattern.matcher(path).matches();
      }
      for (Pattern pattern : excepted) {
        matches &= !pattern.matcher(path).matches();
      }
      return matches;
    }

    /** The path of the target, without its query, and without the host of an absolute one. */
    private String path() {
      byte[] text = line.bytes(Field.TARGET);
      int begin = line.begin(Field.TARGET);
      int end = line.end(Field.TARGET);
      for (int at = begin; at < end; at++) {
        if (text[at] == '?' || text[at] == '#') {
          end = at;
        }
      }
      if (begin < end && text[begin] != '/') {
        int slashes = LogLine.find(text, '/', begin, end);
        if (slashes > 0
            && slashes + 1 < end
            && text[slashes - 1] == ':'
            && text[slashes + 1] == '/') {
          int path = LogLine.find(text, '/', slashes + 2, end);
          begin = path < 0 ? end : path;
        }
      }
      return begin == end ? "/" : new String(text, begin, end - begin, StandardCharsets.UTF_8);
    }

    /** The hash of who is counted; 0 if the call is left out. */
    private long subject(int from, int to) throws IOException {
      Field named =
          switch (subject) {
            case USER -> Field.USER;
            case FIELD -> Field.SUBJECT;
            case IP, REGEX, ALL -> Field.ADDRESS;
          };
      if (subject == SubjectKind.ALL) {
        if (texts.wants(1)) {
          texts.note(1, "all calls");
        }
        return 1;
      }
      if (line.has(Field.POLICY)) {
        return text(Field.SUBJECT);
      }
      if (subject == SubjectKind.IP) {
        return byAddress(0);
      }
      if (group != null) {
        Matcher found = group.matcher(new String(buffer, from, to - from, StandardCharsets.UTF_8));
        if (isFound(found) && found.group(1) != null && !found.group(1).isEmpty()) {
          line.set(Field.SUBJECT, found.group(1));
          return text(Field.SUBJECT);
        }
      } else if (line.has(named)) {
        return text(named);
      }
      if (anonymousLeftOut) {
        withoutSubject++;
        return 0;
      }
      long who = byAddress(2);
      anonymous += who == 0 ? 0 : 1;
      return who;
    }

    /** Alternatives and groups that are repeated on a long line may need more than the stack. */
    private static boolean isFound(Matcher searched) {
      try {
        return searched.find();
      } catch (StackOverflowError tooLong) {
        return false;
      }
    }

    private long text(Field field) throws IOException {
      byte[] text = line.bytes(field);
      long hash = 1;
      for (int at = line.begin(field); at < line.end(field); at++) {
        hash = (hash ^ (text[at] & 0xFF)) * 0x9E3779B97F4A7C15L;
        hash ^= hash >>> 32;
      }
      long who = mixed(hash, 3);
      if (texts.wants(who)) {
        texts.note(who, line.text(field));
      }
      return who;
    }

    private long byAddress(int kind) throws IOException {
      if (!client()) {
        withoutSubject++;
        return 0;
      }
      long bits = address.isIpv4() ? address.low : mixed(address.high, 4);
      long who = mixed(bits, kind);
      if (texts.wants(who)) {
        texts.note(who, (kind == 0 ? "" : "anonymous ") + address.text());
      }
      return who;
    }

    /** Whether there is an address; it is that of the client then. */
    private boolean client() {
      boolean peer =
          line.has(Field.ADDRESS)
              && address.read(
                  line.bytes(Field.ADDRESS), line.begin(Field.ADDRESS), line.end(Field.ADDRESS));
      if (peer && (trusted.isEmpty() || !trusted.trust(address))) {
        return true;
      }
      if (!line.has(Field.FORWARDED)) {
        return peer;
      }
      byte[] text = line.bytes(Field.FORWARDED);
      int begin = line.begin(Field.FORWARDED);
      int end = line.end(Field.FORWARDED);
      boolean found = peer;
      for (int hops = 0; hops < MAX_HOPS && end > begin; hops++) {
        int start = end;
        while (start > begin && text[start - 1] != ',') {
          start--;
        }
        if (!hop.read(text, start, end)) {
          return found;
        }
        address.high = hop.high;
        address.low = hop.low;
        found = true;
        if (!trusted.trust(hop)) {
          return true;
        }
        end = start - 1;
      }
      return found;
    }

    private static long mixed(long bits, int kind) {
      long hash = bits + (kind + 1) * 0x9E3779B97F4A7C15L;
      hash = (hash ^ (hash >>> 30)) * 0xBF58476D1CE4E5B9L;
      hash = (hash ^ (hash >>> 27)) * 0x94D049BB133111EBL;
      hash ^= hash >>> 31;
      return hash == 0 ? 1 : hash;
    }

    AccessLog.Summary finish(Path... files) throws IOException {
      String where = files.length == 1 ? "'" + files[0] + "'" : files.length + " logs";
      if (count == 0) {
        throw new LogException("The log %s has no lines".formatted(where));
      }
      if (unreadable == count) {
        throw new LogException(unreadable(where));
      }
      if (policy == null
          ? policies.size() > 1
          : !policies.isEmpty() && !policies.containsKey(policy)) {
        throw new LogException(
            "%s has calls of %s: choose one by --policy"
                .formatted(where, String.join(", ", policies.keySet())));
      }
      if (calls == 0 && others > 0 && leftOut == 0) {
        throw new LogException(
            "None of %s calls of %s matches the paths and methods%s"
                .formatted(
                    others,
                    where,
                    firstTarget.isEmpty() ? "" : "; the first has the path '" + firstTarget + "'"));
      }
      if (calls == 0) {
        throw new LogException(
            "None of %s calls of %s is left to be replayed: %s have no subject, %s were denied by today's limiter or cost nothing"
                .formatted(leftOut, where, withoutSubject, leftOut - withoutSubject));
      }
      texts.flush();
      spool.group(AccessLog.counted(windows, wholeSeconds == calls));
      TreeMap<Integer, Long> byStatus = new TreeMap<>();
      for (int status = 0; status <= Statuses.MOST; status++) {
        if (statuses[status] > 0) {
          byStatus.merge(status == Statuses.MOST ? 0 : status, statuses[status], Long::sum);
        }
      }
      return new AccessLog.Summary(
          formats,
          count,
          unreadable,
          tooLong,
          others,
          leftOut,
          anonymous,
          outOfOrder,
          calls,
          byStatus,
          deniedToday,
          policies.isEmpty()
              ? Optional.empty()
              : Optional.of(policy == null ? policies.firstKey() : policy),
          outcomes,
          wholeSeconds == calls,
          wholeSeconds,
          AccessLog.instant(first),
          AccessLog.instant(last),
          peak.most(),
          List.copyOf(examples));
    }

    private String unreadable(String where) {
      StringBuilder text =
          new StringBuilder(
              "None of %s lines of %s could be read. The first is\n  %s\nand lines like these were expected; choose a format by --format, or names by --field:"
                  .formatted(count, where, firstLine));
      for (LogFormat one : LogFormat.values()) {
        if (one != LogFormat.AUTO && (format == LogFormat.AUTO || format == one)) {
          text.append("\n  %-10s %s".formatted(one, one.example()));
        }
      }
      return text.toString();
    }
  }

  /** The most calls of one second. Hours 64 days apart or more are not read beside each other. */
  private static final class Peak {

    private static final int HOUR = 3_600;
    private static final int HOURS = 64 * 24;

    private final int[][] calls = new int[HOURS][];
    private final long[] hours = new long[HOURS];
    private long most;

    void count(long epochSecond) {
      long hour = Math.floorDiv(epochSecond, HOUR);
      int slot = Math.floorMod(hour, HOURS);
      int[] seconds = calls[slot];
      if (seconds == null) {
        seconds = new int[HOUR];
        calls[slot] = seconds;
      } else if (hours[slot] != hour) {
        Arrays.fill(seconds, 0);
      }
      hours[slot] = hour;
      most = Math.max(most, ++seconds[Math.floorMod(epochSecond, HOUR)]);
    }

    long most() {
      return most;
    }
  }
}
