// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;

/**
 * What the dashboard and the alerts ask for is in a scrape of the demo. {@code .ci/run} checks the
 * alerts with promtool besides.
 */
class DashboardTest {

  private static final Path DASHBOARD = Path.of("..", "examples", "grafana", "limiter.json");
  private static final Path RULES = Path.of("..", "examples", "prometheus", "limiter-rules.yml");
  private static final Path OPERATIONS = Path.of("..", "docs", "operations.md");

  private static final Pattern METER =
      Pattern.compile("(?m)^\\| `(limiter\\.[a-z.]+)`.* \\| (?:counter|gauge|timer)");

  /** Prometheus adds them to what it scrapes. */
  private static final Set<String> OF_PROMETHEUS = Set.of("job", "instance");

  @TempDir static Path directory;

  private static final Pattern TEXT = Pattern.compile("\"[^\"]*\"");
  private static final Pattern RANGE = Pattern.compile("\\[[^]]*]");
  private static final Pattern GROUPING = Pattern.compile("\\b(?:by|without)\\s*\\(([^)]*)\\)");
  private static final Pattern SELECTOR =
      Pattern.compile("([A-Za-z_:][\\w:]*)\\s*(\\{[^}]*})?(?!\\s*\\(|[\\w:])");
  private static final Pattern MATCHER = Pattern.compile("(\\w+)\\s*(?:=~|!~|!=|=)");
  private static final Set<String> WORDS = Set.of("and", "or", "unless", "offset", "bool");

  /**
   * The metrics of a query, each with the labels by which it is selected, and the labels by which
   * it groups. It reads what is used here, not all of PromQL: no {@code on}, {@code ignoring} or
   * {@code group_left}, no label that {@code label_replace} makes, no metric by {@code __name__},
   * and no text with an escaped quote.
   */
  private record Query(String text, Map<String, Set<String>> metrics, Set<String> grouped) {

    static Query of(String text) {
      String bare = RANGE.matcher(TEXT.matcher(text).replaceAll("''")).replaceAll("");
      bare = bare.replaceAll("\\boffset\\s+\\w+", "");
      Set<String> grouped = new HashSet<>();
      Matcher grouping = GROUPING.matcher(bare);
      while (grouping.find()) {
        grouped.addAll(List.of(grouping.group(1).split("\\s*,\\s*")));
      }
      Map<String, Set<String>> metrics = new LinkedHashMap<>();
      Matcher selector = SELECTOR.matcher(grouping.replaceAll(""));
      while (selector.find()) {
        if (!WORDS.contains(selector.group(1))) {
          Set<String> labels = metrics.computeIfAbsent(selector.group(1), m -> new HashSet<>());
          if (selector.group(2) != null) {
            MATCHER.matcher(selector.group(2)).results().forEach(l -> labels.add(l.group(1)));
          }
        }
      }
      return new Query(text, metrics, grouped);
    }
  }

  @Test
  void theMetricsOfAQueryAreFound() {
    Query query =
        Query.of(
            "topk(5, sum by (le, job) (rate(a_bucket{x=~\"b|c\", job!=\"d\"}[5m] offset 1d))) / 0.5 > e_total and max(f{}) or g");

    assertThat(query.metrics())
        .containsExactlyInAnyOrderEntriesOf(
            Map.of(
                "a_bucket", Set.of("x", "job"), "e_total", Set.of(), "f", Set.of(), "g", Set.of()));
    assertThat(query.grouped()).containsExactlyInAnyOrder("le", "job");
  }

  @Test
  void eachMetricAndLabelOfAQueryIsInAScrapeOfTheDemo() throws IOException {
    Map<String, Set<String>> scraped = scrape();
    List<Query> queries = Stream.concat(dashboard(), rules()).map(Query::of).toList();
    assertThat(queries).hasSizeGreaterThan(15);
    for (Query query : queries) {
      assertThat(query.metrics()).as(query.text()).isNotEmpty();
      Set<String> labels = new HashSet<>(OF_PROMETHEUS);
      query
          .metrics()
          .forEach(
              (metric, selected) -> {
                assertThat(scraped).as(query.text()).containsKey(metric);
                Set<String> known = new HashSet<>(OF_PROMETHEUS);
                known.addAll(scraped.get(metric));
                assertThat(known).as("labels of %s", metric).containsAll(selected);
                labels.addAll(scraped.get(metric));
              });
      assertThat(labels).as(query.text()).containsAll(query.grouped());
    }
  }

  /** Each of the limiter's meters that a page lists: the operator's, or that of a module. */
  @Test
  void theDashboardShowsEachMeter() throws IOException {
    String queries = dashboard().collect(Collectors.joining("\n"));
    List<String> meters = new ArrayList<>();
    for (String page : List.of("operations", "idempotency-keys", "overload", "planning")) {
      Matcher row = METER.matcher(Files.readString(OPERATIONS.resolveSibling(page + ".md")));
      assertThat(row.results()).as(page).isNotEmpty();
      row.reset().results().forEach(each -> meters.add(each.group(1).replace('.', '_')));
    }

    assertThat(meters)
        .hasSizeGreaterThanOrEqualTo(25)
        .allSatisfy(m -> assertThat(queries).contains(m));
  }

  /** An alert that no page explains helps no operator. */
  @Test
  void eachAlertHasASummaryADescriptionASeverityAndASection() throws IOException {
    Set<String> sections =
        Files.readAllLines(OPERATIONS).stream()
            .filter(line -> line.startsWith("#"))
            .map(line -> line.replaceFirst("#+ ", "").toLowerCase(Locale.ROOT).replace(' ', '-'))
            .collect(Collectors.toSet());

    List<Map<String, Object>> alerts = alerts();

    assertThat(alerts)
        .extracting(alert -> alert.get("alert"))
        .containsExactlyInAnyOrder(
            "LimiterFallbackDecides",
            "LimiterBreakerOpen",
            "LimiterDenialsTenfold",
            "LimiterProcessLate",
            "LimiterSharedSettingsProblem",
            "LimiterSubmissionsUnkept",
            "LimiterOverload");
    for (Map<String, Object> alert : alerts) {
      Map<?, ?> annotations = (Map<?, ?>) alert.get("annotations");
      assertThat(annotations.get("summary").toString()).isNotBlank();
      assertThat(annotations.get("description").toString()).isNotBlank();
      assertThat(((Map<?, ?>) alert.get("labels")).get("severity")).isIn("warning", "critical");
      assertThat(annotations.get("runbook")).isInstanceOf(String.class);
      String link = annotations.get("runbook").toString();
      assertThat(link).startsWith("docs/operations.md#");
      assertThat(sections).contains(link.substring(link.indexOf('#') + 1));
    }
  }

  private static Stream<String> dashboard() throws IOException {
    List<String> queries = new ArrayList<>();
    for (JsonNode query : new ObjectMapper().readTree(DASHBOARD.toFile()).findValues("expr")) {
      queries.add(query.textValue());
    }
    return queries.stream();
  }

  private static Stream<String> rules() throws IOException {
    return alerts().stream().map(alert -> alert.get("expr").toString());
  }

  @SuppressWarnings("unchecked")
  private static List<Map<String, Object>> alerts() throws IOException {
    Map<String, List<Map<String, Object>>> file =
        new Yaml(new SafeConstructor(new LoaderOptions())).load(Files.readString(RULES));
    return file.get("groups").stream()
        .flatMap(group -> ((List<Map<String, Object>>) group.get("rules")).stream())
        .toList();
  }

  /**
   * The labels of each metric, after calls that are admitted, denied, observed, near a limit,
   * denied on trial.
   */
  private static Map<String, Set<String>> scrape() {
    String observed = "sms-code";
    Map<String, Object> settings =
        Map.of(
            "limiter.deny-cache.enabled",
            true,
            "limiter.redis.shared-settings.enabled",
            true,
            "limiter.policies." + observed + ".observe",
            true,
            "limiter.policies.search.warn-at",
            0.01,
            "limiter.policies.search.trial[0].count",
            1,
            "limiter.policies.search.trial[0].time",
            "60s",
            "limiter.recorder.file",
            directory.resolve("calls.csv").toString());
    Map<String, Set<String>> metrics = new HashMap<>();
    try (Demo demo = new Demo(Demo.newService(), settings)) {
      for (int i = 0; i < 12; i++) {
        demo.get("/articles");
      }
      demo.get("/search");
      demo.get("/search"); // which a rule on trial would have denied
      demo.post("/checkout/payment", "{}", "Idempotency-Key", "1");
      demo.post("/llm?model=SMALL&tokens=250", "", "X-Api-Key", "tea"); // cut after 200
      demo.post("/sms/code?phone=1", "");
      demo.post("/sms/code?phone=1", "");
      demo.get("/prometheus")
          .body()
          .lines()
          .filter(line -> !line.startsWith("#"))
          .forEach(
              line -> {
                String name = line.split("[{ ]", 2)[0];
                Set<String> labels = metrics.computeIfAbsent(name, m -> new HashSet<>());
                if (line.contains("{")) {
                  MATCHER
                      .matcher(TEXT.matcher(line).replaceAll("''"))
                      .results()
                      .forEach(label -> labels.add(label.group(1)));
                }
              });
    }
    return metrics;
  }
}
