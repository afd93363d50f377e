// SPDX-License-Identifier: Apache-2.0
package io.limiter.planner;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.limiter.planner.AccessLog.BusySubject;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which calls are read of a log, and which lines are not. */
class LogReaderTest {

  private static final Instant NOON = Instant.parse("2026-10-10T12:00:00Z");

  @TempDir private Path directory;

  private static String line(int second, String address) {
    return Logs.combined(NOON.plusSeconds(second), address, "/", 200);
  }

  private AccessLog read(LogReader reader, String text) throws IOException {
    return reader.showSubjects(true).read(Logs.write(directory, "a.log", text));
  }

  @Test
  void badLinesAreCountedAndShown() throws IOException {
    String text =
        line(0, "10.0.0.1")
            + "no log\n\n"
            + line(1, "10.0.0.1").replace("Oct", "Okt")
            + line(1, "10.0.0.1").replace("10/Oct", "31/Feb")
            + "\0\1\2\n"
            + "10.0.0.1 - - [10/Oct/2026:13:55:36 +0000] \"\\x16\\x03\\x01\" 400 0 \"-\" \"-\"\r\n"
            + "10.0.0.1 - - [10/Oct/2026:13:55";
    try (AccessLog log = read(AccessLog.reader(), text)) {
      assertThat(log.summary().lines()).isEqualTo(7);
      assertThat(log.summary().unreadable()).isEqualTo(5);
      assertThat(log.summary().calls()).isEqualTo(2);
      assertThat(log.summary().examples())
          .containsExactly(
              "no log",
              "10.0.0.1 - - [10/Okt/2026:12:00:01 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"agent\"",
              "10.0.0.1 - - [31/Feb/2026:12:00:01 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"agent\"");
    }
  }

  @Test
  void aLogThatCannotBeReadShowsItsFirstLine() throws IOException {
    Path file = Logs.write(directory, "b.log", "Mär 3 kernel: x\nsecond\n");
    assertThatThrownBy(() -> AccessLog.reader().read(file))
        .isInstanceOf(LogException.class)
        .hasMessageStartingWith(
            "None of 2 lines of '" + file + "' could be read. The first is\n  Mär 3 kernel: x\n")
        .hasMessageContaining("combined   1.2.3.4 - ann [10/Oct/2026:13:55:36 +0000]")
        .hasMessageContaining("alb        http 2026");
    assertThatThrownBy(() -> AccessLog.reader().format(LogFormat.CADDY).read(file))
        .hasMessageContaining("caddy      {\"ts\"")
        .hasMessageNotContaining("alb");
  }

  @Test
  void anEmptyLogIsNamed() throws IOException {
    Path file = Logs.write(directory, "empty.log", "\n\r\n");
    assertThatThrownBy(() -> AccessLog.reader().read(file))
        .isInstanceOf(LogException.class)
        .hasMessage("The log '" + file + "' has no lines");
    Path head = Logs.write(directory, "head.csv", "time,user\n");
    assertThatThrownBy(() -> AccessLog.reader().format(LogFormat.CSV).read(head))
        .hasMessage("The log '" + head + "' has no lines");
    Path missing = directory.resolve("missing");
    assertThatThrownBy(() -> AccessLog.reader().read(missing))
        .hasMessage("The log '" + missing + "' does not exist");
    assertThatThrownBy(() -> AccessLog.reader().read(directory))
        .hasMessage("'" + directory + "' is a directory: name the files in it");
  }

  @Test
  void hugeLinesAreLeftOut() throws IOException {
    String huge = "x".repeat(3 * LogReader.MAX_LINE);
    String long1 = line(1, "10.0.0.1").replace("agent", "a".repeat(900_000));
    try (AccessLog log =
        read(
            AccessLog.reader(),
            huge + "\n" + line(0, "10.0.0.1") + long1 + huge + "\n" + line(2, "10.0.0.2") + huge)) {
      assertThat(log.summary().calls()).isEqualTo(3);
      assertThat(log.summary().tooLong()).isEqualTo(3);
      assertThat(log.summary().lines()).isEqualTo(6);
    }
  }

  @Test
  void theBusiestSecondIsThatOfAllFiles() throws IOException {
    StringBuilder text = new StringBuilder();
    for (int second = 0; second < 3 * 3_600; second += 2) {
      text.append(line(second, "10.0.0.1"));
    }
    Path one = Logs.write(directory, "one.log", text.toString());
    Path other = Logs.write(directory, "other.log", text.toString());
    try (AccessLog log = AccessLog.reader().read(one, other)) {
      assertThat(log.summary().peakPerSecond()).isEqualTo(2);
    }
  }

  @Test
  void fullSecondsAreCountedAmongFractions() throws IOException {
    String csv = "time,address\n2026-10-10T12:00:00.5Z,10.0.0.1\n2026-10-10T12:00:01Z,10.0.0.1\n";
    try (AccessLog log = read(AccessLog.reader(), csv)) {
      assertThat(log.summary().wholeSeconds()).isFalse();
      assertThat(log.summary().wholeSecondCalls()).isEqualTo(1);
    }
  }

  @Test
  void callsWithoutAStatusAreCountedTogether() throws IOException {
    String text =
        line(0, "10.0.0.1").replace(" 200 ", " 000 ") + line(1, "10.0.0.1").replace(" 200 ", " - ");
    try (AccessLog log = read(AccessLog.reader(), text)) {
      assertThat(log.summary().statuses()).containsExactly(Map.entry(0, 2L));
    }
  }

  @Test
  void outcomesAreThoseOfReadableLines() throws IOException {
    String text =
        "time,policy,subject,cost,outcome\n"
            + "1791640536250001,search,s1,1,admitted\n"
            + "1791640536250002,search,s1,-1,admitted\n"
            + "1791640536250003,search,s1,1.5,denied\n";
    try (AccessLog log = read(AccessLog.reader(), text)) {
      assertThat(log.summary().unreadable()).isEqualTo(2);
      assertThat(log.summary().outcomes()).containsExactly(Map.entry("admitted", 1L));
      assertThat(log.summary().deniedToday()).isZero();
    }
  }

  @Test
  void whyNoCallIsLeftIsNamed() throws IOException {
    Path file = Logs.write(directory, "a.log", line(0, "10.0.0.1") + line(1, "10.0.0.1"));
    assertThatThrownBy(() -> AccessLog.reader().subject("user").leaveOutAnonymous(true).read(file))
        .hasMessageEndingWith(
            "is left to be replayed: 2 have no subject, 0 were denied by today's limiter or cost nothing");
  }

  @Test
  void aPolicyMayBeChosenAmongHundreds() throws IOException {
    StringBuilder text = new StringBuilder("time,policy,subject,cost,outcome\n");
    for (int policy = 0; policy < 150; policy++) {
      text.append("1791640536250001,p%s,s1,1,admitted\n".formatted(policy));
    }
    try (AccessLog log = read(AccessLog.reader().policy("p149"), text.toString())) {
      assertThat(log.summary().calls()).isEqualTo(1);
    }
  }

  @Test
  void gzipIsDecompressedAlsoIfItIsCut() throws IOException {
    Path file = directory.resolve("a.log.gz");
    StringBuilder text = new StringBuilder("no log\n".repeat(9));
    for (int i = 0; i < 20_000; i++) {
      text.append(line(i, "10.0.%s.%s".formatted(i / 256, i % 256)));
    }
    try (OutputStream out = new GZIPOutputStream(Files.newOutputStream(file))) {
      out.write(text.toString().getBytes(StandardCharsets.US_ASCII));
    }
    try (AccessLog log = AccessLog.reader().read(file, file)) {
      assertThat(log.summary().calls()).isEqualTo(40_000);
      assertThat(log.subjects()).isEqualTo(20_000);
    }
    byte[] bytes = Files.readAllBytes(file);
    Files.write(file, Arrays.copyOf(bytes, bytes.length / 2));
    try (AccessLog log = AccessLog.reader().read(file)) {
      assertThat(log.summary().calls()).isBetween(5_000L, 19_000L);
      assertThat(log.summary().examples())
          .hasSize(3)
          .first()
          .asString()
          .startsWith("(a compressed log is cut or damaged: ");
    }
  }

  @Test
  void standardInputIsSpooled() throws IOException {
    InputStream before = System.in;
    System.setIn(
        new ByteArrayInputStream(
            (line(0, "10.0.0.1") + line(5, "10.0.0.1")).getBytes(StandardCharsets.US_ASCII)));
    try (AccessLog log = AccessLog.reader().read(LogReader.STANDARD_INPUT)) {
      assertThat(log.summary().calls()).isEqualTo(2);
      assertThat(log.summary().span()).isEqualTo(Duration.ofSeconds(5));
    } finally {
      System.setIn(before);
    }
  }

  @Test
  void linesOutOfOrderAreReplayedInTheOrderOfTheirTimes() throws IOException {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < 50; i++) {
      text.append(line((i * 37) % 50, "10.0.0.1"));
    }
    try (AccessLog log = read(AccessLog.reader(), text.toString())) {
      assertThat(log.summary().outOfOrder()).isPositive();
      // One a second: 10 in any 10 s.
      assertThat(log.replay(List.of(RuleText.parse("10/10s"))).least().denied()).isZero();
      assertThat(log.replay(List.of(RuleText.parse("9/10s"))).least().denied()).isEqualTo(5);
    }
  }

  @Test
  void timesWithoutAnOffsetAreOfTheZone() throws IOException {
    LogReader berlin = AccessLog.reader().format(LogFormat.CSV).zone(ZoneId.of("Europe/Berlin"));
    // In spring 2:30 is skipped; in autumn 2:30 comes twice.
    try (AccessLog log =
        read(berlin, "time,ip\n2026-03-29 01:59:59,10.0.0.1\n2026-03-29 03:00:00,10.0.0.1\n")) {
      assertThat(log.summary().span()).isEqualTo(Duration.ofSeconds(1));
      assertThat(log.summary().first()).isEqualTo(Instant.parse("2026-03-29T00:59:59Z"));
    }
    try (AccessLog log =
        read(
            berlin,
            "time,ip\n2026-10-25T02:10:00,1.1.1.1\n2026-10-25T02:50:00,1.1.1.1\n2026-10-25T02:10:00,1.1.1.1\n2026-10-25T02:50:00,1.1.1.1\n2026-10-25T03:10:00,1.1.1.1\n")) {
      assertThat(log.summary().outOfOrder()).isZero();
      assertThat(log.summary().span()).isEqualTo(Duration.ofHours(2));
    }
    try (AccessLog log =
        read(
            AccessLog.reader(),
            "1.1.1.1 - - [25/Oct/2026:02:50:00 +0200] \"GET / HTTP/1.1\" 200 1\n1.1.1.1 - - [25/Oct/2026:02:10:00 +0100] \"GET / HTTP/1.1\" 200 1\n")) {
      assertThat(log.summary().span()).isEqualTo(Duration.ofMinutes(20));
    }
    try (AccessLog log =
        read(
            AccessLog.reader()
                .format(LogFormat.CSV)
                .timePattern("dd.MM.yyyy HH:mm:ss")
                .zone(ZoneId.of("Asia/Kolkata")),
            "time,ip\n10.10.2026 05:30:00,1.1.1.1\n")) {
      assertThat(log.summary().first()).isEqualTo(Instant.parse("2026-10-10T00:00:00Z"));
    }
  }

  @Test
  void anIpv6AddressIsCutToItsNetwork() throws IOException {
    String text =
        Stream.of(
                "2001:db8:1:2:3:4:5:6",
                "2001:db8:1:2::9",
                "[2001:DB8:1:2::]:443",
                "2001:db8:1:3::9",
                "::ffff:10.0.0.1",
                "10.0.0.1",
                "10.0.0.1:4711",
                "fe80::1%eth0")
            .map(address -> line(0, address))
            .reduce("", String::concat);
    try (AccessLog log = read(AccessLog.reader(), text)) {
      assertThat(log.busiest())
          .containsExactlyInAnyOrder(
              new BusySubject("2001:db8:1:2::/64", 3, 3),
              new BusySubject("2001:db8:1:3::/64", 1, 1),
              new BusySubject("10.0.0.1", 3, 3),
              new BusySubject("fe80:0:0:0::/64", 1, 1));
    }
  }

  @Test
  void whatIsNoAddressIsLeftOut() throws IOException {
    String text =
        Stream.of(
                "10.0.0",
                "10.0.0.256",
                "1.2.3.4.5",
                "::1::2",
                "1:2:3:4:5:6:7",
                "1:2:3:4:5:6:7:8:9",
                "host.example",
                "12345::",
                "1:2:3:4:5:6:7:")
            .map(address -> line(0, address))
            .reduce(line(0, "0.0.0.0") + line(1, "::"), String::concat);
    try (AccessLog log = read(AccessLog.reader(), text)) {
      assertThat(log.summary().calls()).isEqualTo(2);
      assertThat(log.summary().leftOut()).isEqualTo(9);
    }
  }

  @Test
  void trustedProxiesReportTheClient() throws IOException {
    String text =
        "10.0.0.9 - - [10/Oct/2026:13:55:36 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"-\" \"6.6.6.6, 203.0.113.7, 10.0.0.8\"\n"
            + "203.0.113.5 - - [10/Oct/2026:13:55:36 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"-\" \"6.6.6.6\"\n"
            + "10.0.0.9 - - [10/Oct/2026:13:55:36 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"-\" \"6.6.6.6, unknown\"\n";
    try (AccessLog log =
        read(
            AccessLog.reader()
                .field("forwarded", "extra-1")
                .trustedProxies(List.of("10.0.0.0/8", "2001:db8::/32")),
            text)) {
      assertThat(log.busiest())
          .extracting(BusySubject::name)
          .containsExactlyInAnyOrder("203.0.113.7", "203.0.113.5", "10.0.0.9");
    }
    assertThatThrownBy(() -> AccessLog.reader().trustedProxies(List.of("10.0.0.0/33")))
        .hasMessage(
            "The trusted proxy '10.0.0.0/33' has no length of a prefix: use 0 to 32 after the slash");
    assertThatThrownBy(() -> AccessLog.reader().trustedProxies(List.of("proxy")))
        .hasMessage(
            "The trusted proxy 'proxy' is no address: use an address, or a network such as 10.0.0.0/8");
  }

  @Test
  void subjectsMayBeUsersOrGroupsOrAll() throws IOException {
    String text =
        line(0, "10.0.0.1").replace("- - [", "- ann [")
            + line(0, "10.0.0.2").replace("- - [", "- ann [").replace("agent", "key=k2;")
            + line(0, "10.0.0.3");
    try (AccessLog log = read(AccessLog.reader().subject("user"), text)) {
      assertThat(log.summary().anonymous()).isEqualTo(1);
      assertThat(log.busiest())
          .containsExactly(
              new BusySubject("ann", 2, 2), new BusySubject("anonymous 10.0.0.3", 1, 1));
    }
    try (AccessLog log = read(AccessLog.reader().subject("user").leaveOutAnonymous(true), text)) {
      assertThat(log.summary().leftOut()).isEqualTo(1);
      assertThat(log.subjects()).isEqualTo(1);
    }
    try (AccessLog log = read(AccessLog.reader().subject("regex:key=(\\w+)"), text)) {
      assertThat(log.busiest()).extracting(BusySubject::name).contains("k2", "anonymous 10.0.0.3");
    }
    try (AccessLog log = read(AccessLog.reader().subject("all"), text)) {
      assertThat(log.busiest()).containsExactly(new BusySubject("all calls", 3, 3));
    }
    assertThatThrownBy(() -> AccessLog.reader().subject("regex:key"))
        .hasMessageContaining("has no group");
    assertThatThrownBy(() -> AccessLog.reader().subject("tenant"))
        .hasMessage(
            "The subject 'tenant' is unknown: use ip, user, field:NAME, regex:PATTERN or all");
  }

  @Test
  void addressesAreHashedWithAKeyOfTheirOwn() throws IOException {
    Path file = Logs.write(directory, "a.log", line(0, "10.0.0.1"));
    String one;
    try (AccessLog log = AccessLog.reader().read(file)) {
      one = log.busiest().get(0).name();
    }
    assertThat(one).matches("[0-9a-f]{12}");
    try (AccessLog log = AccessLog.reader().read(file)) {
      assertThat(log.busiest().get(0).name()).isNotEqualTo(one);
    }
    String salted;
    try (AccessLog log = AccessLog.reader().salt("s").read(file)) {
      salted = log.busiest().get(0).name();
    }
    try (AccessLog log = AccessLog.reader().salt("s").read(file)) {
      assertThat(log.busiest().get(0).name()).isEqualTo(salted);
    }
  }

  @Test
  void pathsAreSelectedAsRoutesAre() throws IOException {
    String text =
        Stream.of(
                "/search",
                "/search/",
                "/search/a/b?x=/y",
                "/searching",
                "http://h:80/search/c",
                "/Search",
                "*")
            .map(path -> Logs.combined(NOON, "10.0.0.1", path, 200))
            .reduce("", String::concat);
    try (AccessLog log = read(AccessLog.reader().path("/search/**"), text)) {
      assertThat(log.summary().calls()).isEqualTo(4);
    }
    try (AccessLog log = read(AccessLog.reader().path("/search/**").except("/search/*/b"), text)) {
      assertThat(log.summary().calls()).isEqualTo(3);
    }
    try (AccessLog log = read(AccessLog.reader().path("/**/b").path("/search?ng"), text)) {
      assertThat(log.summary().calls()).isEqualTo(2);
    }
    assertThatThrownBy(() -> read(AccessLog.reader().path("/orders"), text))
        .isInstanceOf(LogException.class)
        .hasMessageContaining("matches the paths and methods; the first has the path '/search'");
    assertThatThrownBy(() -> AccessLog.reader().path("orders"))
        .hasMessage(
            "The path 'orders' does not begin with a slash: use a pattern such as /search/**");
  }

  @Test
  void pathsOfManySegmentsNeedNoStack() throws IOException {
    String deep = "/a".repeat(100_000);
    String text =
        Logs.combined(NOON, "10.0.0.1", deep, 200)
            + Logs.combined(NOON, "10.0.0.1", deep + "/b", 200);
    try (AccessLog log = read(AccessLog.reader().path("/a/**/b"), text)) {
      assertThat(log.summary().calls()).isEqualTo(1);
    }
    try (AccessLog log = read(AccessLog.reader().subject("regex:((?:/a|/c)+)x"), text)) {
      assertThat(log.summary().anonymous()).isEqualTo(2);
    }
  }

  @Test
  void whatTodaysLimiterDeniedMayBeLeftOut() throws IOException {
    String text = line(0, "10.0.0.1") + Logs.combined(NOON, "10.0.0.1", "/", 429);
    try (AccessLog log = read(AccessLog.reader(), text)) {
      assertThat(log.summary().calls()).isEqualTo(2);
      assertThat(log.summary().deniedToday()).isEqualTo(1);
    }
    try (AccessLog log = read(AccessLog.reader().deniedStatuses("429,503", true), text)) {
      assertThat(log.summary().calls()).isEqualTo(1);
      assertThat(log.summary().deniedToday()).isEqualTo(1);
    }
    assertThatThrownBy(() -> AccessLog.reader().deniedStatuses("4xx", false))
        .hasMessage(
            "The statuses '4xx' cannot be read: use codes and ranges such as 401,403,500-599, or none");
  }

  @Test
  void temporaryFilesAreDeleted() throws IOException {
    Path temporary = Files.createDirectory(directory.resolve("temporary"));
    Path file = Logs.write(directory, "a.log", line(0, "10.0.0.1"));
    AccessLog log = AccessLog.reader().directory(temporary).read(file);
    assertThat(temporary).isNotEmptyDirectory();
    log.close();
    assertThat(temporary).isEmptyDirectory();
    assertThatThrownBy(() -> AccessLog.reader().directory(temporary).path("/x").read(file));
    assertThat(temporary).isEmptyDirectory();
    assertThatThrownBy(() -> AccessLog.reader().directory(directory.resolve("none")).read(file))
        .isInstanceOf(LogException.class)
        .hasMessageContaining("use another directory by --temp");
  }
}
