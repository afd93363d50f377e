// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.planner.PlannerCommand;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The page that the planner writes, as a person looks at it. */
@Tag("browser")
class PlannerReportTest {

  private static final int CALLS = 20_000;
  private static final Instant BEGIN = Instant.parse("2026-10-10T00:00:00Z");
  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("dd/MMM/yyyy:HH:mm:ss Z", Locale.ROOT).withZone(ZoneOffset.UTC);

  @TempDir private static Path directory;

  private static Browser browser;
  private static Path page;

  @BeforeAll
  static void start() throws IOException, InterruptedException {
    browser = Browser.start();
    page = directory.resolve("report.html");
    Path log = Files.writeString(directory.resolve("access.log"), log());
    Process planner =
        new ProcessBuilder(
                List.of(
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                    "-cp",
                    System.getProperty("java.class.path"),
                    PlannerCommand.class.getName(),
                    log.toString(),
                    "--rule",
                    "30/1m",
                    "--deny-calls",
                    "1%",
                    "--html",
                    page.toString()))
            .redirectErrorStream(true)
            .start();
    String printed = new String(planner.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(planner.waitFor(60, TimeUnit.SECONDS)).isTrue();
    assertThat(planner.exitValue()).as(printed).isZero();
  }

  @AfterAll
  static void end() {
    if (browser != null) {
      browser.close();
    }
  }

  /** A day of some hundred addresses, of which few make most calls. */
  private static String log() {
    Random random = new Random(1);
    StringBuilder lines = new StringBuilder();
    for (int call = 0; call < CALLS; call++) {
      int address = (int) (400 * Math.pow(random.nextDouble(), 6));
      lines.append(
          "10.0.%s.%s - - [%s] \"GET /search HTTP/1.1\" 200 5 \"-\" \"an agent with a long name\"\n"
              .formatted(
                  address / 200,
                  address % 200,
                  TIME.format(BEGIN.plusSeconds(call * 86_400L / CALLS))));
    }
    return lines.toString();
  }

  @ParameterizedTest
  @CsvSource({
    "390, false, 'rgb(255, 255, 255)'",
    "390, true, 'rgb(13, 17, 23)'",
    "320, true, 'rgb(13, 17, 23)'",
    "0, false, 'rgb(255, 255, 255)'",
    "0, true, 'rgb(13, 17, 23)'"
  })
  void theReportIsRead(int phone, boolean dark, String paper) {
    browser.desktop(dark);
    if (phone > 0) {
      browser.phone(phone);
    }
    browser.driver().get(page.toUri().toString());

    assertThat(browser.script("return getComputedStyle(document.body).backgroundColor"))
        .isEqualTo(paper);
    assertThat(browser.script("return document.documentElement.scrollWidth - window.innerWidth"))
        .as("what is wider than the window")
        .isEqualTo(0L);
    assertThat(
            browser.script(
                """
                return [...document.querySelectorAll('figure')]
                  .filter(figure => {
                    const box = figure.querySelector('svg').getBoundingClientRect();
                    const drawn = [...figure.querySelectorAll('svg rect, svg path, svg polyline')]
                      .filter(part => {
                        const at = part.getBoundingClientRect();
                        return at.width > 0 && at.height > 0
                          && at.left >= box.left - 1 && at.right <= box.right + 1;
                      });
                    return box.left >= 0 && box.right <= innerWidth && box.width > innerWidth / 2
                      && box.height > 80 && drawn.length > 0;
                  })
                  .map(figure => figure.querySelector('figcaption').textContent.replace(/,? (in|by) .*/, ''))
                """))
        .as("plots that are seen")
        .isEqualTo(List.of("Calls over time", "Subjects", "Calls that each count"));
    assertThat(
            browser.script(
                """
                return [...document.querySelectorAll('svg text')]
                  .filter(text => text.getBoundingClientRect().height < 9).map(text => text.textContent)
                """))
        .as("texts that are too small to be read")
        .isEqualTo(List.of());
    assertThat(browser.inaccessible()).isEmpty();
    assertThat(browser.errors()).isEmpty();
  }
}
