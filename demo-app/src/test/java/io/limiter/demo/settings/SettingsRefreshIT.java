// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo.settings;

import static io.limiter.demo.settings.SettingsTable.file;
import static io.limiter.demo.settings.SettingsTable.see;
import static org.assertj.core.api.SoftAssertions.assertSoftly;

import io.limiter.demo.settings.SettingsTable.Kind;
import io.limiter.demo.settings.SettingsTable.Row;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A process reads its file again: each documented setting changes, or needs a restart and is named.
 */
@Tag("processes")
class SettingsRefreshIT {

  /** With nothing set, with all in the file, with nothing again. */
  @ParameterizedTest
  @EnumSource(names = {"MEMORY", "REDIS", "PARTS_OFF", "POLICIES"})
  void aRefreshChangesLimitsAndNamesWhatNeedsARestart(Kind kind) {
    Predicate<Row> tried = kind == Kind.PARTS_OFF ? Row::isOfAPartOrAll : row -> row.kind() == kind;
    try (PackedService service = PackedService.start(file(kind, row -> false), Map.of())) {
      see(service, rows().filter(tried), Row::usual);

      String log = service.refresh(file(kind, tried));
      assertSoftly(
          softly -> {
            softly.check(() -> see(service, rows().filter(tried).filter(Row::refreshed), Row::set));
            softly.assertThat(service.refresh(file(kind, row -> false))).doesNotContain("ERROR");
            softly.check(
                () -> see(service, rows().filter(tried).filter(Row::refreshed), Row::usual));
            List<String> restart =
                log.lines().filter(line -> line.contains("need a restart")).toList();
            softly
                .assertThat(
                    rows()
                        .filter(tried.and(row -> !row.refreshed()))
                        .map(Row::setting)
                        .map(name -> name.replaceFirst("[.]keys[.].*", ".keys")) // of a map
                        .filter(name -> restart.stream().noneMatch(line -> line.contains(name))))
                .as("what needs a restart and is not named: %s", restart)
                .isEmpty();
          });
    }
  }

  @Test
  void aMistakeInAMemberIsRejectedByARefresh() {
    Kind kind = Kind.POLICIES;
    try (PackedService service = PackedService.start(file(kind, row -> false), Map.of())) {
      assertSoftly(
          softly ->
              rows()
                  .filter(
                      row -> row.kind() == kind && row.setting().startsWith("limiter.policies."))
                  .forEach(
                      row -> {
                        softly
                            .assertThat(tryFile(service, row.misspelt(), row.value()))
                            .contains("ERROR", row.misspelt());
                        if (row.isSwitch()) {
                          softly
                              .assertThat(tryFile(service, row.setting(), "ture"))
                              .contains("ERROR", row.setting(), "set it to true or false");
                        }
                      }));
    }
  }

  private static String tryFile(PackedService service, String setting, Object value) {
    Map<String, Object> file = SettingsTable.base(Kind.POLICIES);
    file.put(setting, value);
    return service.refresh(PackedService.yaml(file));
  }

  private static Stream<Row> rows() {
    return SettingsTable.rows().stream();
  }
}
