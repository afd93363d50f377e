// SPDX-License-Identifier: Apache-2.0
package io.limiter.planner;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import io.limiter.planner.LogLine.Field;
import io.limiter.planner.LogLine.TimeReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A format of access logs, by its name. */
public enum LogFormat {
  /** Finds out by the first lines. */
  AUTO("the first of the others that reads most of the first 100 lines"),
  /** The combined and the common format of Apache and nginx; more quoted texts may follow. */
  COMBINED("1.2.3.4 - ann [10/Oct/2026:13:55:36 +0000] \"GET /path HTTP/1.1\" 200 512 \"-\" \"-\""),
  /**
   * That of nginx by default, which is {@link #COMBINED}, or JSON with the names of its variables.
   */
  NGINX("as combined, or {\"time_iso8601\":…,\"remote_addr\":…,\"request\":…,\"status\":…}"),
  /** The text that Envoy writes by default, or JSON with the names that Istio gives. */
  ENVOY(
      "[2026-10-10T13:55:36.000Z] \"GET /path HTTP/1.1\" 200 - 0 512 3 2 \"1.2.3.4\" …, or {\"start_time\":…,\"path\":…,\"response_code\":…}"),
  /** JSON of Traefik. */
  TRAEFIK("{\"StartUTC\":…,\"ClientHost\":…,\"RequestMethod\":…,\"RequestPath\":…}"),
  /** JSON of Caddy. */
  CADDY("{\"ts\":…,\"request\":{\"remote_ip\":…,\"method\":…,\"uri\":…},\"status\":…}"),
  /** AWS Application Load Balancer. */
  ALB(
      "http 2026-10-10T13:55:36.000000Z app/name/id 1.2.3.4:2817 10.0.0.1:80 0 0 0 200 200 34 366 \"GET http://host:80/path HTTP/1.1\" \"agent\" …"),
  /** Micronaut's access logger, also behind the prefix of a logging pattern. */
  MICRONAUT("1.2.3.4 - - [10/Oct/2026:13:55:36 +0000] \"GET /path HTTP/1.1\" 200 512"),
  /** One JSON object a line, with any of the usual names, or with those of options. */
  JSON("{\"time\":…,\"remote_addr\":…,\"method\":…,\"path\":…,\"status\":…}"),
  /** What the service records by {@code limiter.recorder.file}. */
  RECORDER("time,policy,subject,cost,outcome"),
  /** Columns behind a first line with their names. */
  CSV("time,address,method,path,status");

  private final String example;

  LogFormat(String example) {
    this.example = example;
  }

  /** What a line of the format looks like. */
  public String example() {
    return example;
  }

  /** The name on the command line. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }

  /**
   * A format by its name, in any case.
   *
   * @throws IllegalArgumentException with all names, if there is none of this name
   */
  public static LogFormat named(String name) {
    for (LogFormat format : values()) {
      if (format.name().equalsIgnoreCase(name.trim())) {
        return format;
      }
    }
    throw new IllegalArgumentException(
        "The format '%s' is unknown: use one of %s"
            .formatted(
                name,
                Stream.of(values()).map(LogFormat::toString).collect(Collectors.joining(", "))));
  }

  /** Reads the lines of one file. */
  interface LineReader {

    /** Whether the line could be read, so that it has a time. */
    boolean read(byte[] text, int from, int to, LogLine line);

    /** Whether this first line has the names of the columns, and is no call. */
    default boolean header(byte[] text, int from, int to) {
      return false;
    }

    /** Whether such a line may come again, as in several files that were joined. */
    default boolean repeatsHeader() {
      return false;
    }

    /**
     * The bytes that the lines of a format begin with.
     *
     * @param names the fields that options name; empty for those of the format
     */
    static LineReader of(
        LogFormat format, Map<Field, String> names, String timeName, TimeReader time) {
      return switch (format) {
        case AUTO -> throw new IllegalArgumentException("not a format of lines");
        case COMBINED -> new Combined(names, time, false);
        case MICRONAUT -> new Combined(names, time, true);
        case NGINX ->
            new Either(
                new Combined(names, time, false), new Json(NGINX_NAMES, names, timeName, time));
        case ENVOY ->
            new Either(new Envoy(names, time), new Json(ENVOY_NAMES, names, timeName, time));
        case TRAEFIK -> new Json(TRAEFIK_NAMES, names, timeName, time);
        case CADDY -> new Json(CADDY_NAMES, names, timeName, time);
        case JSON ->
            new Json(
                Stream.of(OTHER_NAMES, NGINX_NAMES, ENVOY_NAMES, TRAEFIK_NAMES, CADDY_NAMES)
                    .flatMap(List::stream)
                    .toList(),
                names,
                timeName,
                time);
        case ALB -> new Alb(names, time);
        case RECORDER -> new Recorded(time);
        case CSV -> new Csv(names, timeName, time);
      };
    }
  }

  /** A name in JSON or of a column, and what it is; without a field it is the time or a request. */
  private record Named(String name, @Nullable Field field, boolean request) {

    static Named time(String name) {
      return new Named(name, null, false);
    }

    static Named request(String name) {
      return new Named(name, null, true);
    }

    static Named of(String name, Field field) {
      return new Named(name, field, false);
    }
  }

  private static final List<Named> NGINX_NAMES =
      List.of(
          Named.time("msec"),
          Named.time("time_iso8601"),
          Named.time("time_local"),
          Named.time("time"),
          Named.of("remote_addr", Field.ADDRESS),
          Named.of("remote_user", Field.USER),
          Named.request("request"),
          Named.of("request_method", Field.METHOD),
          Named.of("request_uri", Field.TARGET),
          Named.of("uri", Field.TARGET),
          Named.of("status", Field.STATUS),
          Named.of("http_x_forwarded_for", Field.FORWARDED));

  private static final List<Named> ENVOY_NAMES =
      List.of(
          Named.time("start_time"),
          Named.of("downstream_remote_address", Field.ADDRESS),
          Named.of("downstream_direct_remote_address", Field.ADDRESS),
          Named.of("method", Field.METHOD),
          Named.of("path", Field.TARGET),
          Named.of("response_code", Field.STATUS),
          Named.of("x_forwarded_for", Field.FORWARDED));

  private static final List<Named> TRAEFIK_NAMES =
      List.of(
          Named.time("StartUTC"),
          Named.time("StartLocal"),
          Named.time("time"),
          Named.of("ClientHost", Field.ADDRESS),
          Named.of("ClientUsername", Field.USER),
          Named.of("RequestMethod", Field.METHOD),
          Named.of("RequestPath", Field.TARGET),
          Named.of("DownstreamStatus", Field.STATUS),
          Named.of("OriginStatus", Field.STATUS),
          Named.of("request_X-Forwarded-For", Field.FORWARDED));

  private static final List<Named> CADDY_NAMES =
      List.of(
          Named.time("ts"),
          Named.of("request.remote_ip", Field.ADDRESS),
          Named.of("request.remote_addr", Field.ADDRESS),
          Named.of("user_id", Field.USER),
          Named.of("request.method", Field.METHOD),
          Named.of("request.uri", Field.TARGET),
          Named.of("status", Field.STATUS),
          Named.of("request.headers.X-Forwarded-For", Field.FORWARDED));

  /** Other usual names, also of columns. */
  private static final List<Named> OTHER_NAMES =
      List.of(
          Named.time("time"),
          Named.time("timestamp"),
          Named.time("@timestamp"),
          Named.time("date"),
          Named.of("address", Field.ADDRESS),
          Named.of("ip", Field.ADDRESS),
          Named.of("client_ip", Field.ADDRESS),
          Named.of("client", Field.ADDRESS),
          Named.of("user", Field.USER),
          Named.of("method", Field.METHOD),
          Named.of("path", Field.TARGET),
          Named.of("url", Field.TARGET),
          Named.of("status", Field.STATUS),
          Named.of("x_forwarded_for", Field.FORWARDED),
          Named.of("cost", Field.COST));

  /** Text or JSON, by the first byte. */
  private record Either(LineReader text, LineReader json) implements LineReader {

    @Override
    public boolean read(byte[] bytes, int from, int to, LogLine line) {
      return (bytes[from] == '{' ? json : text).read(bytes, from, to, line);
    }
  }

  /** Which further columns of a text are wanted, by their position. */
  private static final class Extras {

    private final Field[] fields;

    /**
     * @param known the names of the columns, in their order; later ones are extra-1, extra-2 and so
     *     on
     */
    Extras(Map<Field, String> names, List<String> known) {
      Map<Integer, Field> byIndex = new HashMap<>();
      int most = -1;
      for (Map.Entry<Field, String> entry : names.entrySet()) {
        int index = known.indexOf(entry.getValue());
        if (index < 0 && entry.getValue().matches("extra-[1-9]\\d?")) {
          index = known.size() + Integer.parseInt(entry.getValue().substring(6)) - 1;
        }
        if (index < 0) {
          throw new IllegalArgumentException(
              "The field '%s' is unknown in this format: use one of %s, or extra-1, extra-2 and so on for those behind them"
                  .formatted(entry.getValue(), String.join(", ", known)));
        }
        byIndex.put(index, entry.getKey());
        most = Math.max(most, index);
      }
      fields = new Field[most + 1];
      byIndex.forEach((index, field) -> fields[index] = field);
    }

    /** Reads columns, quoted or not, from here on. */
    void read(byte[] text, int from, int to, LogLine line) {
      int at = from;
      for (int index = 0; index < fields.length && at < to; index++) {
        while (at < to && text[at] == ' ') {
          at++;
        }
        int begin = at;
        int end;
        if (at < to && text[at] == '"') {
          begin = at + 1;
          int close = LogLine.closingQuote(text, begin, to);
          end = close < 0 ? to : close;
          at = end + 1;
        } else {
          int space = LogLine.find(text, ' ', at, to);
          end = space < 0 ? to : space;
          at = end + 1;
        }
        if (fields[index] != null && begin <= end) {
          line.set(fields[index], text, begin, end);
        }
      }
    }
  }

  /** Apache's and nginx's. */
  private static final class Combined implements LineReader {

    private static final byte[] LOGGER = "HTTP_ACCESS_LOGGER".getBytes(StandardCharsets.US_ASCII);

    private final Extras extras;
    private final TimeReader time;
    private final boolean prefixed;

    Combined(Map<Field, String> names, TimeReader time, boolean prefixed) {
      this.extras = new Extras(names, List.of("bytes", "referer", "user-agent"));
      this.time = time;
      this.prefixed = prefixed;
    }

    @Override
    public boolean read(byte[] text, int from, int to, LogLine line) {
      int begin = prefixed ? behindLogger(text, from, to) : from;
      int space = LogLine.find(text, ' ', begin, to);
      int bracket = space < 0 ? -1 : LogLine.find(text, '[', space, to);
      int close = bracket < 0 ? -1 : LogLine.find(text, ']', bracket, to);
      int open = close < 0 ? -1 : LogLine.find(text, '"', close, to);
      int quote = open < 0 ? -1 : LogLine.closingQuote(text, open + 1, to);
      if (quote < 0 || open != close + 2) {
        return false;
      }
      line.micros = time.read(text, bracket + 1, close);
      line.set(Field.ADDRESS, text, begin, space);
      int user = LogLine.find(text, ' ', space + 1, bracket);
      if (user > 0 && user + 1 < bracket) {
        line.set(Field.USER, text, user + 1, bracket - 1);
      }
      line.setRequest(text, open + 1, quote);
      int status = quote + 2;
      int end = status < to ? LogLine.find(text, ' ', status, to) : -1;
      end = end < 0 ? to : end;
      if (status < end) {
        line.set(Field.STATUS, text, status, end);
        extras.read(text, end, to, line);
      }
      return line.micros != LogLine.NONE;
    }

    /** Behind the name of the logger and its separator, if there is one. */
    private static int behindLogger(byte[] text, int from, int to) {
      for (int at = from; at + LOGGER.length < to; at++) {
        int same = 0;
        while (same < LOGGER.length && text[at + same] == LOGGER[same]) {
          same++;
        }
        if (same == LOGGER.length) {
          int begin = at + same;
          while (begin < to && " -:".indexOf(text[begin]) >= 0) {
            begin++;
          }
          return begin;
        }
      }
      return from;
    }
  }

  /** Envoy's default text. */
  private static final class Envoy implements LineReader {

    private static final List<String> COLUMNS =
        List.of(
            "response-flags",
            "bytes-received",
            "bytes-sent",
            "duration",
            "upstream-time",
            "x-forwarded-for",
            "user-agent",
            "request-id",
            "authority",
            "upstream-host");

    private final Extras extras;
    private final TimeReader time;

    Envoy(Map<Field, String> names, TimeReader time) {
      Map<Field, String> wanted = new EnumMap<>(Field.class);
      wanted.put(Field.FORWARDED, "x-forwarded-for");
      wanted.putAll(names);
      this.extras = new Extras(wanted, COLUMNS);
      this.time = time;
    }

    @Override
    public boolean read(byte[] text, int from, int to, LogLine line) {
      int close = text[from] == '[' ? LogLine.find(text, ']', from, to) : -1;
      int open = close < 0 ? -1 : LogLine.find(text, '"', close, to);
      int quote = open < 0 ? -1 : LogLine.closingQuote(text, open + 1, to);
      if (quote < 0) {
        return false;
      }
      line.micros = time.read(text, from + 1, close);
      line.setRequest(text, open + 1, quote);
      int status = quote + 2;
      int end = status < to ? LogLine.find(text, ' ', status, to) : -1;
      if (end > 0) {
        line.set(Field.STATUS, text, status, end);
        extras.read(text, end, to, line);
      }
      return line.micros != LogLine.NONE;
    }
  }

  /** AWS ALB. */
  private static final class Alb implements LineReader {

    /** From the first column on; the time is the second. */
    private static final List<String> COLUMNS =
        List.of(
            "type",
            "time",
            "elb",
            "client",
            "target",
            "request-time",
            "target-time",
            "response-time",
            "status",
            "target-status",
            "received",
            "sent",
            "request",
            "user-agent");

    private final Extras extras;
    private final TimeReader time;

    Alb(Map<Field, String> names, TimeReader time) {
      Map<Field, String> wanted = new EnumMap<>(Field.class);
      wanted.put(Field.ADDRESS, "client");
      wanted.put(Field.STATUS, "status");
      wanted.put(Field.TARGET, "request");
      wanted.putAll(names);
      this.extras = new Extras(wanted, COLUMNS);
      this.time = time;
    }

    @Override
    public boolean read(byte[] text, int from, int to, LogLine line) {
      int type = LogLine.find(text, ' ', from, to);
      int end = type < 0 ? -1 : LogLine.find(text, ' ', type + 1, to);
      if (end < 0) {
        return false;
      }
      line.micros = time.read(text, type + 1, end);
      if (line.micros == LogLine.NONE) {
        return false;
      }
      extras.read(text, from, to, line);
      byte[] request = line.bytes(Field.TARGET);
      line.setRequest(request, line.begin(Field.TARGET), line.end(Field.TARGET));
      return line.has(Field.ADDRESS);
    }
  }

  /** JSON lines. */
  private static final class Json implements LineReader {

    private static final JsonFactory FACTORY =
        JsonFactory.builder().disable(StreamReadFeature.AUTO_CLOSE_SOURCE).build();

    /** What is wanted at a place of the object. */
    private static final class Node {
      final Map<String, Node> members = new HashMap<>();
      final List<Named> wanted = new ArrayList<>();
    }

    private final Node root = new Node();
    private final TimeReader time;

    Json(List<Named> known, Map<Field, String> names, String timeName, TimeReader time) {
      this.time = time;
      for (Named one : known) {
        boolean named =
            one.field() != null
                ? names.containsKey(one.field())
                : !one.request() && !timeName.isEmpty();
        if (!named) {
          want(one);
        }
      }
      names.forEach((field, name) -> want(Named.of(name, field)));
      if (!timeName.isEmpty()) {
        want(Named.time(timeName));
      }
    }

    /** A name with points is that of a member of a member, or one with points in it. */
    private void want(Named one) {
      Node whole = root.members.computeIfAbsent(one.name(), any -> new Node());
      whole.wanted.add(one);
      if (one.name().indexOf('.') > 0) {
        Node node = root;
        for (String part : one.name().split("\\.")) {
          node = node.members.computeIfAbsent(part, any -> new Node());
        }
        node.wanted.add(one);
      }
    }

    @Override
    public boolean read(byte[] text, int from, int to, LogLine line) {
      if (text[from] != '{') {
        return false;
      }
      try (JsonParser parser = FACTORY.createParser(text, from, to - from)) {
        return parser.nextToken() == JsonToken.START_OBJECT
            && object(parser, root, line)
            && line.micros != LogLine.NONE;
      } catch (IOException notJson) {
        return false;
      }
    }

    private boolean object(JsonParser parser, Node node, LogLine line) throws IOException {
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        Node member = node.members.get(parser.currentName());
        JsonToken value = parser.nextToken();
        if (member == null) {
          parser.skipChildren();
        } else if (value == JsonToken.START_OBJECT) {
          if (!object(parser, member, line)) {
            return false;
          }
        } else if (value == JsonToken.START_ARRAY) {
          while (parser.nextToken() != JsonToken.END_ARRAY) {
            if (parser.currentToken() == null) {
              return false;
            }
            take(parser, member, line);
            parser.skipChildren();
          }
        } else {
          take(parser, member, line);
        }
      }
      return parser.currentToken() == JsonToken.END_OBJECT;
    }

    private void take(JsonParser parser, Node member, LogLine line) throws IOException {
      if (member.wanted.isEmpty() || !parser.currentToken().isScalarValue()) {
        return;
      }
      if (parser.currentToken() == JsonToken.VALUE_NULL) {
        return;
      }
      String text = parser.getText();
      for (Named one : member.wanted) {
        if (one.field() == Field.FORWARDED) {
          line.add(Field.FORWARDED, text);
        } else if (one.field() != null) {
          if (!line.has(one.field())) {
            line.set(one.field(), text);
          }
        } else {
          byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
          if (one.request()) {
            line.setRequest(bytes, 0, bytes.length);
          } else if (line.micros == LogLine.NONE) {
            line.micros = time.read(bytes, 0, bytes.length);
          }
        }
      }
    }
  }

  /** Columns with fixed names. */
  private static final class Recorded implements LineReader {

    private static final byte[] HEADER = RECORDER.example.getBytes(StandardCharsets.US_ASCII);

    private final Csv columns;

    Recorded(TimeReader time) {
      columns =
          new Csv(
              Map.of(
                  Field.POLICY, "policy",
                  Field.SUBJECT, "subject",
                  Field.COST, "cost",
                  Field.OUTCOME, "outcome"),
              "time",
              time);
    }

    @Override
    public boolean header(byte[] text, int from, int to) {
      return Arrays.equals(text, from, to, HEADER, 0, HEADER.length)
          && columns.header(text, from, to);
    }

    @Override
    public boolean repeatsHeader() {
      return true;
    }

    @Override
    public boolean read(byte[] text, int from, int to, LogLine line) {
      return columns.read(text, from, to, line)
          && line.has(Field.POLICY)
          && line.has(Field.SUBJECT)
          && line.has(Field.OUTCOME);
    }
  }

  /** Columns with names; quotes as in RFC 4180, but none over several lines. */
  private static final class Csv implements LineReader {

    private final Map<Field, String> names;
    private final String timeName;
    private final TimeReader time;

    private byte separator = ',';
    private @Nullable Field[] fields = {};
    private int timeColumn = -1;

    Csv(Map<Field, String> names, String timeName, TimeReader time) {
      this.names = names;
      this.timeName = timeName;
      this.time = time;
    }

    @Override
    public boolean header(byte[] text, int from, int to) {
      for (char candidate : new char[] {',', ';', '\t'}) {
        if (LogLine.find(text, candidate, from, to) >= 0) {
          separator = (byte) candidate;
          break;
        }
      }
      List<String> columns = new ArrayList<>();
      int at = from;
      while (at <= to) {
        int end = end(text, at, to);
        columns.add(column(text, at, end).trim());
        at = end + 1;
      }
      fields = new Field[columns.size()];
      for (Named known : OTHER_NAMES) {
        int index = indexOf(columns, known.name());
        if (index < 0) {
          continue;
        }
        if (known.field() == null) {
          timeColumn = timeColumn < 0 && timeName.isEmpty() ? index : timeColumn;
        } else if (!names.containsKey(known.field()) && fields[index] == null) {
          fields[index] = known.field();
        }
      }
      if (!timeName.isEmpty()) {
        timeColumn = required(columns, timeName);
      }
      names.forEach((field, name) -> fields[required(columns, name)] = field);
      return timeColumn >= 0;
    }

    private static int required(List<String> columns, String name) {
      int index = indexOf(columns, name);
      if (index < 0) {
        throw new IllegalArgumentException(
            "The column '%s' is not in the first line: use one of %s"
                .formatted(name, String.join(", ", columns)));
      }
      return index;
    }

    private static int indexOf(List<String> columns, String name) {
      for (int c = 0; c < columns.size(); c++) {
        if (columns.get(c).equalsIgnoreCase(name)) {
          return c;
        }
      }
      return -1;
    }

    @Override
    public boolean read(byte[] text, int from, int to, LogLine line) {
      int at = from;
      for (int c = 0; c < fields.length && at <= to; c++) {
        int end = end(text, at, to);
        Field field = fields[c];
        if (c == timeColumn || field != null) {
          byte[] bytes = text;
          int begin = at;
          int stop = end;
          if (at < end && text[at] == '"') {
            bytes = column(text, at, end).getBytes(StandardCharsets.UTF_8);
            begin = 0;
            stop = bytes.length;
          }
          if (c == timeColumn) {
            line.micros = time.read(bytes, begin, stop);
          }
          if (field != null) {
            line.set(field, bytes, begin, stop);
          }
        }
        at = end + 1;
      }
      return line.micros != LogLine.NONE;
    }

    /** The separator behind a column, or the end. */
    private int end(byte[] text, int from, int to) {
      int at = from;
      if (at < to && text[at] == '"') {
        for (at++; at < to; at++) {
          if (text[at] == '"') {
            if (at + 1 < to && text[at + 1] == '"') {
              at++;
            } else {
              break;
            }
          }
        }
      }
      while (at < to && text[at] != separator) {
        at++;
      }
      return at;
    }

    private static String column(byte[] text, int from, int to) {
      String value = new String(text, from, to - from, StandardCharsets.UTF_8);
      return value.length() > 1 && value.startsWith("\"") && value.endsWith("\"")
          ? value.substring(1, value.length() - 1).replace("\"\"", "\"")
          : value;
    }
  }
}
