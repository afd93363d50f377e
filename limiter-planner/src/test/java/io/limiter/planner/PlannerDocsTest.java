// SPDX-License-Identifier: Apache-2.0
package io.limiter.planner;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.rule.Rule;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The page names each option, and only those that are there; its rules can be read. */
class PlannerDocsTest {

  private static final Pattern OPTION = Pattern.compile("(?<![\\w-])--[a-z][a-z-]+");
  private static final Pattern RULE = Pattern.compile("`(\\d+/\\d+(?:ms|s|m|h|d):[^`]*)`");

  private static String page() throws IOException {
    return Files.readString(Path.of("../docs/planning.md"));
  }

  @Test
  void eachOptionIsThere() throws IOException {
    TreeSet<String> named =
        OPTION
            .matcher(page())
            .results()
            .map(found -> found.group())
            .collect(Collectors.toCollection(TreeSet::new));
    TreeSet<String> known = new TreeSet<>(PlannerCommand.options());
    known.removeAll(List.of("--help", "--version"));
    assertThat(named).isEqualTo(known);
  }

  @Test
  void itsRulesCanBeRead() throws IOException {
    List<Rule> rules =
        RULE.matcher(page()).results().map(found -> RuleText.parse(found.group(1))).toList();
    assertThat(rules).hasSize(5);
  }

  @Test
  void itsPolicyIsAsTheReportWritesIt() throws IOException {
    assertThat(page())
        .contains(
            "```yaml\n"
                + RuleText.yaml(
                    List.of(RuleText.parse("430/1m")), "search", List.of("/search/**"), "ip")
                + "```");
  }
}
