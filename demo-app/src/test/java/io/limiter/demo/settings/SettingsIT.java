// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo.settings;

import static io.limiter.demo.settings.SettingsTable.file;
import static io.limiter.demo.settings.SettingsTable.see;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.demo.settings.SettingsTable.Kind;
import io.limiter.demo.settings.SettingsTable.Row;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Every documented setting has its effect in a process, however it is set. */
@Tag("processes")
class SettingsIT {

  private static final Path DOCS = Path.of("..", "docs");

  @Test
  void everyDocumentedSettingIsTried() throws IOException {
    assertThat(names(row -> !row.setting().matches("limiter\\.(policies|tiers|routes).*")))
        .containsExactlyInAnyOrderElementsOf(
            documented("settings.md", "(?m)^\\| `(limiter\\.[^`*]+)`"));
  }

  @Test
  void everyDocumentedMemberIsTried() throws IOException {
    String page = "configuration.md";
    assertThat(names(Row::ofPolicy)).containsExactlyInAnyOrderElementsOf(members(page, "policy"));
    assertThat(names(Row::ofRule)).containsExactlyInAnyOrderElementsOf(members(page, "rule"));
  }

  private static List<String> names(Predicate<Row> some) {
    return rows().filter(some).map(Row::name).toList();
  }

  /** Of the first column of a table; a cell may begin with the group of its members. */
  private static List<String> members(String page, String of) throws IOException {
    String table =
        Files.readString(DOCS.resolve(page))
            .replaceFirst(
                "(?s).*\\| member of a %s \\|[^\n]*\n[^\n]*\n(.*?)\n\n.*".formatted(of), "$1");
    return table
        .lines()
        .map(line -> line.split("\\|")[1].strip().replace("`", ""))
        .flatMap(
            cell -> {
              String group = cell.contains(": ") ? cell.replaceFirst(": .*", ".") : "";
              return Arrays.stream(cell.substring(group.length()).split(","))
                  .map(name -> group + name.strip());
            })
        .toList();
  }

  private static List<String> documented(String page, String pattern) throws IOException {
    Matcher names = Pattern.compile(pattern).matcher(Files.readString(DOCS.resolve(page)));
    return names.results().map(name -> name.group(1)).toList();
  }

  @ParameterizedTest
  @EnumSource(names = "GATE", mode = Mode.EXCLUDE)
  void aSettingInAFileIsInEffect(Kind kind) {
    try (PackedService service =
        PackedService.start(file(kind, row -> row.kind() == kind), Map.of())) {
      see(service, rows().filter(row -> row.kind() == kind), Row::set);
    }
  }

  @ParameterizedTest
  @EnumSource(names = "GATE", mode = Mode.EXCLUDE)
  void aVariableIsInEffect(Kind kind) {
    Map<String, String> variables = new HashMap<>();
    rows()
        .filter(row -> row.kind() == kind && row.hasVariable())
        .forEach(row -> variables.put(row.variable(), row.text()));
    try (PackedService service = PackedService.start(file(kind, row -> false), variables)) {
      see(service, rows().filter(row -> row.kind() == kind && row.hasVariable()), Row::set);
    }
  }

  /** The demo cannot do without the gate, and names the setting. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void theGateIsSwitchedOff(boolean byFile) {
    assertThat(
            PackedService.stopped(
                file(Kind.GATE, row -> byFile && row.kind() == Kind.GATE),
                byFile ? Map.of() : Map.of("LIMITER_GATE_ENABLED", "false")))
        .contains("with limiter.gate.enabled = false all calls are decided around the method");
  }

  /** Those of optional modules are named by these, which look at them apart from the others. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "limiter\\.idempotency\\..*",
        "limiter\\.client\\..*",
        "limiter\\.overload\\..*",
        "limiter\\.(?!(idempotency|client|overload)\\.).*"
      })
  void aMisspeltNameInAFileStopsTheStart(String settings) {
    Map<String, Object> file = SettingsTable.base(Kind.OFF);
    List<String> names =
        rows()
            .filter(row -> !row.setting().matches("limiter\\.(policies|tiers|routes).*"))
            .filter(row -> !row.isFree())
            .filter(row -> row.setting().matches(settings))
            .peek(row -> file.put(row.misspelt(), row.value()))
            .map(row -> row.misspelt() + " in ")
            .toList();
    assertThat(PackedService.stopped(PackedService.yaml(file), Map.of())).contains(names);
  }

  @Test
  void aMisspeltVariableIsNamed() {
    Map<String, String> variables = new HashMap<>();
    rows()
        .filter(row -> row.hasVariable() && !row.isFree())
        .forEach(row -> variables.put(row.variable() + "X", row.text()));
    try (PackedService service =
        PackedService.start(PackedService.yaml(SettingsTable.base(Kind.POLICIES)), variables)) {
      assertThat(warned(service.log())).containsAll(variables.keySet());
    }
  }

  /** The variables that the log has a warning of. */
  private static TreeSet<String> warned(String log) {
    return Pattern.compile("WARN .*? (LIMITER_[A-Z0-9_]+)")
        .matcher(log)
        .results()
        .map(name -> name.group(1))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  @ParameterizedTest
  @ValueSource(strings = {"limiter.headers.debug", "limiter.enabled"})
  void aMistypedSwitchStopsTheStart(String setting) {
    mistyped(setting);
  }

  @Tag("matrix")
  @ParameterizedTest
  @MethodSource("switches")
  void eachMistypedSwitchStopsTheStart(String setting) {
    mistyped(setting);
  }

  private static Stream<String> switches() {
    return rows()
        .filter(Row::isSwitch)
        .map(Row::setting)
        .filter(setting -> !setting.startsWith("limiter.policies."));
  }

  private static void mistyped(String setting) {
    Map<String, Object> file = SettingsTable.base(Kind.OFF);
    String variable = SettingsTable.variable(setting);
    assertThat(PackedService.stopped(PackedService.yaml(file), Map.of(variable, "ture")))
        .contains("set it to true or false", setting);
    file.put(setting, "ture");
    assertThat(PackedService.stopped(PackedService.yaml(file), Map.of()))
        .contains("set it to true or false", setting);
  }

  private static Stream<Row> rows() {
    return SettingsTable.rows().stream();
  }
}
