// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReportTest {

  private final ByteArrayOutputStream printed = new ByteArrayOutputStream();
  private final Report report =
      new Report(
          new PrintStream(printed, true, UTF_8),
          Options.parse(List.of("engine", "--quick"), List.of()));

  private static Table table() {
    Spread ratio = Spread.of(List.of(0.9, 0.8, 1.0));
    return new Table("Rates", "what", "÷ PING", "goal")
        .row("ours", ratio, Goal.atLeast(0.85, ratio))
        .row("theirs", 3L, "")
        .note("A note.");
  }

  @Test
  void tablesArePrintedAsMarkdown() {
    report.table(table());

    assertThat(printed.toString(UTF_8))
        .endsWith(
            """

            ### Rates

            | what | ÷ PING | goal |
            | --- | ---: | ---: |
            | ours | 0.900 (0.800–1.00) | ≥ 0.85: reached |
            | theirs | 3 |  |

            A note.

            """);
  }

  @Test
  void itBeginsWithWhatTheFiguresDependOn() {
    report.library("io.lettuce", "lettuce-core");

    assertThat(printed.toString(UTF_8))
        .startsWith("* note: --quick: these are not measurements\n")
        .contains("* command: java -jar benchmarks.jar engine --quick")
        .contains("* processors: " + Runtime.getRuntime().availableProcessors() + ",")
        .contains("* Java: ", "* memory: ", "* system: ", "* date: ")
        .containsPattern("\\* limiter: \\d+\\.\\d+")
        .containsPattern("\\* lettuce-core: 6\\.\\d+\\.\\d+");
  }

  @Test
  void theSameIsWrittenAsJson(@TempDir Path directory) throws Exception {
    Path file = directory.resolve("report.json");
    report.table(table());
    report.writeJson(file);

    JsonNode json = new ObjectMapper().readTree(file.toFile());
    assertThat(json.at("/about/command").asText()).endsWith("engine --quick");
    assertThat(json.at("/tables/0/title").asText()).isEqualTo("Rates");
    assertThat(json.at("/tables/0/rows/0/1/median").asDouble()).isEqualTo(0.9);
    assertThat(json.at("/tables/0/rows/0/1/rounds").toString()).isEqualTo("[0.9,0.8,1.0]");
    assertThat(json.at("/tables/0/rows/0/2/reached").asBoolean()).isTrue();
    assertThat(json.at("/tables/0/rows/1/1").asLong()).isEqualTo(3);
  }

  @Test
  void aRowHasAsManyCellsAsThereAreColumns() {
    assertThatThrownBy(() -> table().row("too", "few"))
        .hasMessage("A row of 'Rates' has 2 cells: give it 3, [what, ÷ PING, goal]");
  }
}
