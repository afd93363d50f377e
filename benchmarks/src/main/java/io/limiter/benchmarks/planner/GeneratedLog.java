// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.planner;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import java.util.SplittableRandom;

/**
 * Writes combined logs, the same ones for the same numbers: calls of a day, in order.
 *
 * @param lines the number of calls
 * @param addresses whose they are
 */
public record GeneratedLog(int lines, Addresses addresses) {

  /** Whose calls they are. */
  enum Addresses {
    /** Of some hundred thousand, of which few make most calls. */
    SKEWED("of up to 300,000 addresses"),
    /** Each of an address of its own. */
    DISTINCT("each of another address"),
    /** Of a third as many: each third call of a new one, the others of the newest tenth of all. */
    FOLLOWING("of a third as many addresses, a tenth of which call at one time");

    private final String text;

    Addresses(String text) {
      this.text = text;
    }

    @Override
    public String toString() {
      return text;
    }

    /** The address of a call. */
    private int of(int line, int lines, SplittableRandom random) {
      return switch (this) {
        case SKEWED -> (int) (FEW * Math.pow(random.nextDouble(), SKEW));
        case DISTINCT -> line;
        case FOLLOWING -> {
          int newest = line / 3;
          yield line % 3 == 0 ? newest : newest - random.nextInt(Math.min(newest, lines / 30) + 1);
        }
      };
    }
  }

  private static final Instant BEGIN = Instant.parse("2026-10-10T00:00:00Z");
  private static final long DAY_SECONDS = 86_400;
  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("dd/MMM/yyyy:HH:mm:ss Z", Locale.ROOT).withZone(ZoneOffset.UTC);

  private static final String[] PATHS = {
    "/", "/search?q=tea", "/search/suggest?q=t", "/orders", "/orders/17", "/login", "/favicon.ico"
  };
  private static final int[] STATUSES = {200, 200, 200, 200, 200, 304, 401, 404, 500};

  /** The exponent by which addresses have more calls than others. */
  private static final double SKEW = 5;

  private static final int FEW = 300_000;

  /** Writes the file. */
  public void write(Path file) throws IOException {
    SplittableRandom random = new SplittableRandom(lines);
    try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(file), 1 << 20)) {
      long second = -1;
      String time = "";
      StringBuilder line = new StringBuilder();
      for (int l = 0; l < lines; l++) {
        long now = l * DAY_SECONDS / lines;
        if (now != second) {
          second = now;
          time = TIME.format(BEGIN.plusSeconds(second));
        }
        int address = addresses.of(l, lines, random);
        line.setLength(0);
        line.append("10.").append(address >> 16 & 255).append('.').append(address >> 8 & 255);
        line.append('.').append(address & 255).append(" - - [").append(time).append("] \"GET ");
        line.append(PATHS[random.nextInt(PATHS.length)]).append(" HTTP/1.1\" ");
        line.append(STATUSES[random.nextInt(STATUSES.length)]).append(' ');
        line.append(random.nextInt(20_000));
        line.append(" \"https://shop.example/\" \"Mozilla/5.0 (X11; Linux x86_64)\"\n");
        out.write(line.toString().getBytes(StandardCharsets.ISO_8859_1));
      }
    }
  }
}
