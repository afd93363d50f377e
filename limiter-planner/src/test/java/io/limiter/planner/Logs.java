// SPDX-License-Identifier: Apache-2.0
package io.limiter.planner;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;

/** Logs that tests write, and what is in them. */
final class Logs {

  static final Instant START = Instant.parse("2026-10-10T10:00:00Z");

  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("dd/MMM/yyyy:HH:mm:ss Z", Locale.ROOT).withZone(ZoneOffset.UTC);

  private Logs() {}

  /** A call of a test's log. */
  record Call(long micros, String subject, int cost, int status) {

    static Call at(double seconds, String subject) {
      return new Call(Math.round(seconds * 1e6), subject, 1, 200);
    }
  }

  static Path write(Path directory, String name, String text) throws IOException {
    return Files.writeString(directory.resolve(name), text, StandardCharsets.UTF_8);
  }

  static String combined(Instant time, String address, String path, int status) {
    return "%s - - [%s] \"GET %s HTTP/1.1\" %s 5 \"-\" \"agent\"\n"
        .formatted(address, TIME.format(time), path, status);
  }

  /** With microseconds. */
  static Path csv(Path directory, List<Call> calls) throws IOException {
    StringBuilder text = new StringBuilder("time,user,cost,status\n");
    long start = AccessLog.micros(START);
    for (Call call : calls) {
      text.append(AccessLog.instant(start + call.micros()))
          .append(',')
          .append(call.subject())
          .append(',')
          .append(call.cost())
          .append(',')
          .append(call.status())
          .append('\n');
    }
    return write(directory, "calls.csv", text.toString());
  }

  /** Bursts of some subjects over some minutes; times are in order. */
  static List<Call> random(long seed, int count, int subjects, boolean costs) {
    Random random = new Random(seed);
    List<Call> calls = new ArrayList<>();
    long micros = 0;
    for (int c = 0; c < count; c++) {
      micros += random.nextInt(10) == 0 ? random.nextInt(4_000_000) : random.nextInt(90_000);
      int who = Math.min(random.nextInt(subjects), random.nextInt(subjects));
      calls.add(
          new Call(
              micros,
              "s" + who,
              costs && random.nextInt(4) == 0 ? 1 + random.nextInt(3) : 1,
              random.nextInt(3) == 0 ? 401 : 200));
    }
    return calls;
  }

  static Map<String, List<Call>> bySubject(List<Call> calls) {
    return calls.stream().collect(Collectors.groupingBy(Call::subject));
  }

  static LogReader ofUsers() {
    return AccessLog.reader().subject("user").showSubjects(true);
  }
}
