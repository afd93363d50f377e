// SPDX-License-Identifier: Apache-2.0
package io.limiter.planner;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Each format by its name, and found out; all lines are the same call. */
class LogFormatTest {

  private static final String ENVOY =
      "[2026-10-10T13:55:36.250Z] \"GET /search/tea?q=1 HTTP/1.1\" 429 - 0 512 3 2 \"9.9.9.9, 203.0.113.7\" \"curl/8\" \"id\" \"host\" \"10.0.0.1:80\"";

  private static final String ALB =
      "https 2026-10-10T13:55:36.250000Z app/lb/50dc6c49 203.0.113.7:2817 10.0.0.1:80 0.001 0.002 0.000 429 429 34 366 \"GET https://example.com:443/search/tea?q=1 HTTP/1.1\" \"curl/8\" ECDHE TLSv1.2";

  @TempDir private Path directory;

  static Stream<Arguments> lines() {
    return Stream.of(
        Arguments.of(
            LogFormat.COMBINED,
            false,
            "203.0.113.7 - ann [10/Oct/2026:13:55:36 +0000] \"GET /search/tea?q=1 HTTP/1.1\" 429 512 \"-\" \"curl \\\"8\\\"\""),
        Arguments.of(
            LogFormat.NGINX,
            false,
            "203.0.113.7 - - [10/Oct/2026:15:55:36 +0200] \"GET /search/tea HTTP/2.0\" 429 512 \"-\" \"-\""),
        Arguments.of(
            LogFormat.NGINX,
            true,
            "{\"time_iso8601\":\"2026-10-10T15:55:36.250+02:00\",\"remote_addr\":\"203.0.113.7\",\"request\":\"GET /search/tea HTTP/1.1\",\"status\":\"429\"}"),
        Arguments.of(LogFormat.ENVOY, true, ENVOY),
        Arguments.of(
            LogFormat.ENVOY,
            true,
            "{\"start_time\":\"2026-10-10T13:55:36.250Z\",\"method\":\"GET\",\"path\":\"/search/tea\",\"response_code\":429,\"downstream_remote_address\":\"203.0.113.7:51234\"}"),
        Arguments.of(
            LogFormat.TRAEFIK,
            true,
            "{\"ClientHost\":\"203.0.113.7\",\"RequestMethod\":\"GET\",\"RequestPath\":\"/search/tea\",\"DownstreamStatus\":429,\"StartUTC\":\"2026-10-10T13:55:36.250123456Z\",\"level\":\"info\"}"),
        Arguments.of(
            LogFormat.CADDY,
            true,
            "{\"level\":\"info\",\"ts\":1791640536.25,\"request\":{\"remote_ip\":\"203.0.113.7\",\"method\":\"GET\",\"uri\":\"/search/tea?q=1\",\"headers\":{\"Accept\":[\"*/*\"]}},\"status\":429}"),
        Arguments.of(LogFormat.ALB, true, ALB),
        Arguments.of(
            LogFormat.MICRONAUT,
            false,
            "13:55:36.251 [netty-1] INFO  HTTP_ACCESS_LOGGER - 203.0.113.7 - - [10/Oct/2026:13:55:36 +0000] \"GET /search/tea HTTP/1.1\" 429 12"),
        Arguments.of(
            LogFormat.JSON,
            true,
            "{\"@timestamp\":\"2026-10-10T13:55:36.250Z\",\"ip\":\"203.0.113.7\",\"method\":\"GET\",\"path\":\"/search/tea\",\"status\":429}"),
        Arguments.of(
            LogFormat.CSV,
            true,
            "Time,\"Client_IP\",method,path,status\n1791640536250,203.0.113.7,GET,\"/search/tea?a=\"\"1,2\"\"\",429"));
  }

  @ParameterizedTest
  @MethodSource("lines")
  void aLineIsRead(LogFormat format, boolean fraction, String line) throws IOException {
    for (LogFormat tried : new LogFormat[] {format, LogFormat.AUTO}) {
      try (AccessLog log =
          AccessLog.reader()
              .format(tried)
              .showSubjects(true)
              .path("/search/*")
              .method("get")
              .read(Logs.write(directory, "one.log", line + "\n"))) {
        assertThat(log.busiest())
            .as("%s: %s", tried, line)
            .containsExactly(new AccessLog.BusySubject("203.0.113.7", 1, 1));
        assertThat(log.summary().first())
            .isEqualTo(
                Instant.parse("2026-10-10T13:55:36Z")
                    .plusMillis(fraction ? 250 : 0)
                    .plusNanos(format == LogFormat.TRAEFIK ? 123_000 : 0));
        assertThat(log.summary().statuses()).containsExactly(Map.entry(429, 1L));
        assertThat(log.summary().deniedToday()).isEqualTo(1);
      }
    }
  }

  @Test
  void otherNamesAreThoseOfOptions() throws IOException {
    Path file =
        Logs.write(
            directory,
            "own.json",
            "{\"when\":1791640536,\"who\":{\"key\":\"k1\"},\"weight\":3,\"a.b\":\"x\"}\n");
    try (AccessLog log =
        AccessLog.reader()
            .format(LogFormat.JSON)
            .field("time", "when")
            .field("cost", "weight")
            .subject("field:who.key")
            .showSubjects(true)
            .read(file)) {
      assertThat(log.busiest()).containsExactly(new AccessLog.BusySubject("k1", 1, 3));
    }
    try (AccessLog log =
        AccessLog.reader()
            .field("time", "when")
            .subject("field:a.b")
            .showSubjects(true)
            .read(file)) {
      assertThat(log.busiest()).containsExactly(new AccessLog.BusySubject("x", 1, 1));
    }
  }

  @Test
  void columnsBehindTheStatusHaveNames() throws IOException {
    Path file =
        Logs.write(
            directory,
            "keys.log",
            "10.0.0.1 - - [10/Oct/2026:13:55:36 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"agent of mine\" \"key 1\" 7\n");
    try (AccessLog log =
        AccessLog.reader()
            .subject("field:extra-1")
            .field("cost", "extra-2")
            .showSubjects(true)
            .read(file)) {
      assertThat(log.busiest()).containsExactly(new AccessLog.BusySubject("key 1", 1, 7));
    }
    assertThatThrownBy(
            () -> AccessLog.reader().format(LogFormat.COMBINED).subject("field:agent").read(file))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "The field 'agent' is unknown in this format: use one of bytes, referer, user-agent, or extra-1, extra-2 and so on for those behind them");
  }

  @Test
  void aMissingColumnIsNamed() throws IOException {
    Path file = Logs.write(directory, "c.csv", "time;user\n2026-10-10T13:55:36Z;ann\n");
    assertThatThrownBy(
            () -> AccessLog.reader().format(LogFormat.CSV).field("cost", "units").read(file))
        .hasMessage("The column 'units' is not in the first line: use one of time, user");
  }

  private static final String RECORDED =
      """
      time,policy,subject,cost,outcome
      1791640536250001,search,s1,1,admitted
      1791640536250002,search,s1,4,denied
      time,policy,subject,cost,outcome
      1791640536250003,search,s2,1,observed
      1791640536250004,search,s2,1,other
      1791640536250005,search,s2,1,thrown
      1791640536250006,"login:IP, header = x",s3,1,trial
      1791640536250007,search,s2
      """;

  /** A second header is that of a file that was joined. */
  @Test
  void aRecordedLogHasPolicies() throws IOException {
    Path file = Logs.write(directory, "calls.csv", RECORDED);
    for (LogFormat tried : new LogFormat[] {LogFormat.RECORDER, LogFormat.AUTO}) {
      try (AccessLog log =
          AccessLog.reader().format(tried).policy("search").showSubjects(true).read(file)) {
        AccessLog.Summary summary = log.summary();
        assertThat(log.busiest())
            .containsExactly(
                new AccessLog.BusySubject("s1", 2, 5), new AccessLog.BusySubject("s2", 1, 1));
        assertThat(summary.formats()).containsExactly("recorder");
        assertThat(summary.policy()).hasValue("search");
        assertThat(summary.outcomes())
            .isEqualTo(Map.of("admitted", 1L, "denied", 1L, "observed", 1L, "other", 1L));
        assertThat(summary.deniedToday()).isEqualTo(1);
        assertThat(summary.leftOut()).isEqualTo(1);
        assertThat(summary.otherCalls()).isEqualTo(1);
        assertThat(summary.unreadable()).isEqualTo(2);
        assertThat(summary.wholeSeconds()).isFalse();
      }
    }
    try (AccessLog log =
        AccessLog.reader().policy("search").subject("all").deniedStatuses("429", true).read(file)) {
      assertThat(log.subjects()).isEqualTo(1);
      assertThat(log.summary().calls()).isEqualTo(2);
    }
  }

  /** As it is before the first call. */
  @Test
  void aRecordedLogWithoutCallsIsNoOtherFormat() throws IOException {
    Path file = Logs.write(directory, "calls.csv", "time,policy,subject,cost,outcome\n");
    assertThatThrownBy(() -> AccessLog.reader().read(file))
        .isInstanceOf(LogException.class)
        .hasMessage("The log '%s' has no lines".formatted(file));
  }

  @Test
  void onePolicyOfARecordedLogIsChosen() throws IOException {
    Path file = Logs.write(directory, "calls.csv", RECORDED);
    for (LogReader reader :
        new LogReader[] {AccessLog.reader(), AccessLog.reader().policy("other")}) {
      assertThatThrownBy(() -> reader.read(file))
          .isInstanceOf(LogException.class)
          .hasMessage(
              "'%s' has calls of login:IP, header = x, search: choose one by --policy"
                  .formatted(file));
    }
    assertThatThrownBy(() -> AccessLog.reader().path("/search/**").read(file))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "A recorded log has neither paths and methods nor addresses: select calls by --policy");
    assertThatThrownBy(
            () -> AccessLog.reader().format(LogFormat.RECORDER).subject("user").read(file))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "The subjects of a recorded log are those of the service: remove --subject, or use all");
    assertThatThrownBy(
            () -> AccessLog.reader().format(LogFormat.RECORDER).field("cost", "c").read(file))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("The fields of a recorded log are fixed: remove --field");
  }

  @Test
  void anUnknownNameIsRejected() {
    assertThatThrownBy(() -> LogFormat.named("iis"))
        .hasMessage(
            "The format 'iis' is unknown: use one of auto, combined, nginx, envoy, traefik, caddy, alb, micronaut, json, recorder, csv");
  }
}
