// SPDX-License-Identifier: Apache-2.0
package io.limiter.planner;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.limiter.core.rule.Rule;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import javax.xml.XMLConstants;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.w3c.dom.Document;
import org.w3c.dom.Element;

/** The command line and its reports. */
class PlannerCommandTest {

  @TempDir private Path directory;
  private String log = "";
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  /** Four hours; one address calls ten times in a second, others every two minutes. */
  @BeforeEach
  void write() throws IOException {
    StringBuilder text = new StringBuilder("what is <this> & \"that\"\n");
    for (int minute = 0; minute < 240; minute++) {
      String address = "10.0.0." + minute % 20;
      int status = minute % 7 == 0 ? 401 : 200;
      text.append(
          Logs.combined(Logs.START.plusSeconds(minute * 60L), address, "/search/a", status));
      if (minute == 100) {
        text.append(
            Logs.combined(Logs.START.plusSeconds(minute * 60L), "10.0.1.1", "/search/b", 200)
                .repeat(10));
      }
    }
    log = Logs.write(directory, "access.log", text.toString()).toString();
  }

  private int run(String... arguments) {
    return PlannerCommand.run(
        arguments, new PrintWriter(out, true), new PrintWriter(err, true), null);
  }

  @Test
  void replaysRules() {
    assertThat(
            run(log, "--path", "/search/**", "--rule", "3/1m", "--rule", "5/1h", "--show-subjects"))
        .isZero();
    assertThat(out.toString().lines())
        .contains(
            log
                + ": 250 calls of 21 subjects, 2026-10-10T10:00:00Z to 2026-10-10T13:59:00Z, combined, at most 11 in a second",
            "Statuses: 200: 215, 401: 35",
            "* 1 of 251 lines could not be read, such as: what is <this> & \"that\"",
            "Rules 3/1m, 5/1h",
            "  Denied: 7 of 250 calls (2.8 %), 1 of 21 subjects",
            "  By: 3-per-60s 7, 5-per-3600s 0",
            "  Denied most, of their calls: 10.0.1.1 7 of 10",
            "  from                  calls  denied ",
            "  2026-10-10T11:00:00Z     70       7 ");
    assertThat(out.toString())
        .contains("* The times of the log are full seconds.")
        .doesNotContain("smallest counts");
    assertThat(err.toString()).isEmpty();
  }

  /** Numbers of a policy that is enforced are tried beside its own. */
  @ParameterizedTest
  @CsvSource({"observed, observe: true, rules", "denied, '', trial"})
  void replaysWhatAServiceHasRecorded(String outcome, String observe, String member)
      throws IOException {
    StringBuilder text = new StringBuilder("time,policy,subject,cost,outcome\n");
    for (int call = 0; call < 6; call++) {
      text.append(
          "179164053625%s001,search:IP,s1,1,%s\n".formatted(call, call < 4 ? "admitted" : outcome));
    }
    Path file = Logs.write(directory, "calls.csv", text.toString());
    assertThat(
            run(file.toString(), "--policy", "search:IP", "--rule", "4/1m", "--deny-calls", "50%"))
        .isZero();
    assertThat(out.toString().lines())
        .contains(
            "Recorded of search:IP: admitted: 4, %s: 2".formatted(outcome),
            "  Denied: 2 of 6 calls (33.3 %), 1 of 1 subject");
    assertThat(out.toString())
        .contains(
            "limiter:\n  policies:\n    search:\n"
                + (observe.isEmpty() ? "" : "      " + observe + '\n')
                + "      "
                + member
                + ":\n        - {count: 3, time: 10s")
        .doesNotContain("full seconds", "routes:", "No call has a status");
    assertThat(run(file.toString(), "--rule", "4/1m", "--counts", "failures")).isEqualTo(2);
    assertThat(err.toString())
        .isEqualTo("--counts is 'failures': a recorded log has no statuses, so use all\n");
  }

  @Test
  void proposesRulesReadyToPaste() {
    assertThat(run(log, "--path", "/search/**", "--deny-subjects", "1")).isZero();
    assertThat(out.toString())
        .contains("The smallest counts that deny at most 1 subject")
        .contains("@RateLimiter(value = \"search\", rules = @RateRule(count = 1, time = 60))")
        .contains(
            """
            limiter:
              policies:
                search:
                  observe: true
                  rules:
                    - {count: 1, time: 1m}
              routes:
                - {path: "/search/**", policy: search}
            """);
  }

  @Test
  void failuresMayBeCounted() {
    assertThat(
            run(
                log,
                "--rule",
                "1/1h",
                "--counts",
                "failures",
                "--ban",
                "1/1h/2h",
                "--show-subjects"))
        .isZero();
    assertThat(out.toString()).contains("Rules 1/1h; ban 1/1h/2h; failures");
  }

  @Test
  void jsonHasTheSameFigures() throws IOException {
    assertThat(run(log, "--rule", "3/1m", "--deny-calls", "1%", "--json", "-", "--show-subjects"))
        .isZero();
    JsonNode json = new ObjectMapper().readTree(out.toString());
    assertThat(json.at("/calls").asLong()).isEqualTo(250);
    assertThat(json.at("/replay/least/denied").asLong()).isEqualTo(7);
    assertThat(json.at("/replay/most/denied").asLong()).isEqualTo(7);
    assertThat(json.at("/replay/most/top/0/subject").asText()).isEqualTo("10.0.1.1");
    assertThat(json.at("/replay/most/overTime").size()).isEqualTo(4);
    assertThat(json.at("/demand/0/max")).hasToString("[10,10]");
    assertThat(json.at("/goal/callShare").asDouble()).isEqualTo(0.01);
    assertThat(json.at("/proposals").findValuesAsText("chosen")).contains("true");
    assertThat(json.at("/counts").size()).isPositive();
  }

  /**
   * Parsed as XML, which HTML need not be: every element is closed, and nothing is left unescaped.
   */
  @Test
  void htmlIsOneFileForPhonesInDarkAndLight() throws Exception {
    Path file = directory.resolve("report.html");
    assertThat(run(log, "--rule", "3/1m", "--deny-calls", "1%", "--html", file.toString()))
        .isZero();
    String html = Files.readString(file);
    assertThat(html)
        .startsWith("<!doctype html>")
        .contains(
            "@media (prefers-color-scheme: dark)",
            "name=\"viewport\"",
            "what is &lt;this&gt; &amp;")
        .doesNotContain("<script", "http://", "https://", "url(", "<link", "@import");
    DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
    factory.setFeature(XMLConstants.FEATURE_SECURE_PROCESSING, true);
    String body =
        html.substring("<!doctype html>".length()).replaceAll("<meta ([^>]*)>", "<meta $1/>");
    Document document =
        factory
            .newDocumentBuilder()
            .parse(new ByteArrayInputStream(body.getBytes(StandardCharsets.UTF_8)));
    assertThat(document.getElementsByTagName("figure").getLength())
        .as("calls over time, demand, what each count denies")
        .isEqualTo(3);
    for (int s = 0; s < 3; s++) {
      Element svg = (Element) document.getElementsByTagName("svg").item(s);
      assertThat(svg.getAttribute("role")).isEqualTo("img");
      assertThat(svg.getAttribute("aria-label")).isNotEmpty();
      assertThat(svg.getAttribute("viewBox")).isEqualTo("0 0 640 240");
    }
    // Tables scroll by themselves, so that a page of 390 pixels does not.
    for (int t = 0; t < document.getElementsByTagName("table").getLength(); t++) {
      Element frame = (Element) document.getElementsByTagName("table").item(t).getParentNode();
      assertThat(frame.getAttribute("class")).isEqualTo("wide");
    }
    assertThat(html)
        .contains(
            ".wide { overflow-x: auto;",
            "pre { background: var(--band); padding: .75rem; overflow-x: auto; }");
  }

  @Test
  void aTerminalShowsTheProgress() {
    ByteArrayOutputStream terminal = new ByteArrayOutputStream();
    int status =
        PlannerCommand.run(
            new String[] {log},
            new PrintWriter(out, true),
            new PrintWriter(err, true),
            new PrintStream(terminal, true, StandardCharsets.UTF_8));
    assertThat(status).isZero();
    assertThat(terminal.toString(StandardCharsets.UTF_8))
        .startsWith("\rreading, 0 MB")
        .endsWith("\r\u001b[K");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "--rule 60 | The rule '60' cannot be read: use COUNT/TIME or COUNT/TIME:ALGORITHM, such as 60/1m or 20/1s:token-bucket,refill=5",
        "--rule 60/1w | The rule '60/1w' cannot be read: use COUNT/TIME or COUNT/TIME:ALGORITHM, such as 60/1m or 20/1s:token-bucket,refill=5",
        "--rule 60/1m:gcra | The rule '60/1m:gcra' has the unknown algorithm 'gcra': use sliding-window-log, sliding-window-counter, fixed-window, token-bucket or leaky-bucket",
        "--rule 6/1m:log,refill=5 | The option 'refill' of the rule '6/1m:log,refill=5' is unknown: use refill of a token-bucket, queue and max-wait of a leaky-bucket, zone of a fixed-window",
        "--rule 6/1m:leaky-bucket | The rule '6/1m:leaky-bucket' has no queue: add queue=10, or use a token-bucket",
        "--rule 6/1m:token-bucket,refill | The option 'refill' of the rule '6/1m:token-bucket,refill' has no value: use NAME=VALUE",
        "--rule 6/1d:fixed-window,zone=Mars | The rule '6/1d:fixed-window,zone=Mars' has the unknown zone 'Mars': use one such as Europe/Berlin or UTC",
        "--rule 6/1d:fixed-window,zone=UTC,zone=GMT | The rule '6/1d:fixed-window,zone=UTC,zone=GMT' has the option 'zone' twice: remove one",
        "--rule 6/999999999999d:leaky-bucket,queue=9999 | The rule '6-per-86399999999913600s-queue-9999' has a window of PT23999999999976H: use 1 ms to 366 days",
        "--rule 6/1m --algorithm fixed-window | --algorithm is about rules that are searched: remove --rule, or add --deny-calls or --deny-subjects",
        "--path /users/{id} | The path '/users/{id}' has variables: use * in their place, as in /users/*/orders",
        "--rule 6/1m --rule 6/1m | Two rules of one stack are named '6-per-60s': remove or rename one of them",
        "--ban 5/10m/1h | --ban and --counts are about rules: add --rule, such as --rule 60/1m",
        "--rule 6/1m --ban 5/10m | The ban '5/10m' cannot be read: use VIOLATIONS/WITHIN/TIME, such as 5/10m/1h",
        "--rule 6/1m --counts none | --counts is 'none': use all, failures or successes",
        "--deny-calls x | --deny-calls is 'x': use a share such as 0.1% or 0.001",
        "--deny-calls 1 --deny-subjects 1 | --deny-calls and --deny-subjects are two goals: use one",
        "--deny-calls 150% | The share of denied calls is 1.5: use 0 or more, and less than 1",
        "--window 1y | The time '1y' cannot be read: use a number with ms, s, m, h or d, such as 1m",
        "--window 0s | The window 0s is none of a rule: use 1 ms to 366 days",
        "--html /no/such/file.html | --html is '/no/such/file.html': use a file in a directory that exists",
        "--zone Mars | --zone is 'Mars': use a zone such as Europe/Berlin or UTC",
        "--policy 7/x | --policy is '7/x': use a letter, then letters, digits and hyphens",
        "--field size=x | The field 'size' is unknown: use time, address, user, method, path, status, forwarded or cost",
        "--time-pattern JJ | `The time pattern 'JJ' cannot be read: Unknown pattern letter: J; use letters of DateTimeFormatter, such as yyyy-MM-dd HH:mm:ss`",
      })
  void aMistakeIsNamed(String options, String message) {
    String[] arguments = (log + " " + options).split(" ");
    assertThat(run(arguments)).isEqualTo(2);
    assertThat(err.toString().trim()).isEqualTo(message);
    assertThat(out.toString()).isEmpty();
  }

  @Test
  void aReportReplacesNoLog() throws IOException {
    String written = Files.readString(Path.of(log));
    String other = directory + "/./access.log";
    for (String option : List.of("--html", "--json")) {
      assertThat(run(log, "--rule", "3/1m", option, other)).isEqualTo(2);
    }
    assertThat(err.toString().lines())
        .hasSize(2)
        .containsOnly("The report would replace the log '%s': use another file".formatted(log));
    assertThat(Files.readString(Path.of(log))).isEqualTo(written);
  }

  @Test
  void filesAreNamedOnce() {
    assertThat(run(log, directory + "/./access.log", "--rule", "3/1m")).isEqualTo(2);
    assertThat(err.toString().trim())
        .isEqualTo("The log '%s/./access.log' is named twice: name it once".formatted(directory));
    String report = directory.resolve("report").toString();
    assertThat(run(log, "--html", report, "--json", report)).isEqualTo(2);
    assertThat(err.toString())
        .endsWith("--html and --json are both '%s': use two files\n".formatted(report));
  }

  @Test
  void oneIsSingular() throws IOException {
    Path one = Logs.write(directory, "one.log", Logs.combined(Logs.START, "10.0.0.1", "/", 429));
    assertThat(run(one.toString(), "--rule", "1/1m")).isZero();
    assertThat(out.toString())
        .contains(
            "  Counted: 1 unit\n",
            "  Redis: 1 command, at most 1 in a second; at most about 226 bytes for 1 subject at a time\n",
            "* Calls that today's limiter denied: 1 (100.0 % of the selected). They are replayed");
  }

  @Test
  void timesOfBothKindsAreNoted() throws IOException {
    Path exact =
        Logs.write(directory, "exact.csv", "time,address\n2026-10-10T12:00:00.5Z,10.0.0.1\n");
    assertThat(run(log, exact.toString(), "--rule", "3/1m")).isZero();
    assertThat(out.toString())
        .contains("* 250 of 251 times are full seconds, others have fractions")
        .doesNotContain("The times of the log are full seconds.");
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void aLogThatFailsIsNamed() {
    assertThat(run("/proc/self/mem", "--rule", "3/1m")).isEqualTo(1);
    assertThat(err.toString()).startsWith("The log '/proc/self/mem' cannot be read: ");
  }

  @Test
  void aLogThatIsMissingIsNoMistakeOfOptions() {
    assertThat(run(directory.resolve("none.log").toString(), "--rule", "1/1s")).isEqualTo(1);
    assertThat(err.toString()).contains("none.log' does not exist");
    assertThat(run()).isEqualTo(2);
    assertThat(run("--help")).isZero();
    assertThat(out.toString()).contains("Usage: limiter-planner").contains("--deny-subjects");
    assertThat(run("--version")).isZero();
  }

  @Test
  void rulesAreWrittenAsTheyAreRead() {
    for (String rule :
        List.of(
            "60/1m",
            "3/500ms",
            "600/1h:sliding-window-counter",
            "10/90s:fixed-window",
            "1000/1d:fixed-window,zone=Europe/Berlin",
            "20/1s:token-bucket,refill=5",
            "20/1s:token-bucket",
            "2/1s:leaky-bucket,queue=10,max-wait=5s")) {
      assertThat(RuleText.of(RuleText.parse(rule))).isEqualTo(rule);
    }
    assertThat(
            RuleText.annotation(
                List.of(RuleText.parse("3/500ms"), RuleText.parse("20/1s:token-bucket,refill=5")),
                "p",
                "user"))
        .isEqualTo(
            "@RateLimiter(value = \"p\", limitType = LimitType.USER_ID, rules = {@RateRule(count = 3, time = 500, timeUnit = TimeUnit.MILLISECONDS), @RateRule(count = 20, time = 1, tokenBucket = @TokenBucket(refill = 5))})");
    List<Rule> one = List.of(RuleText.parse("3/1m"));
    assertThat(RuleText.annotation(one, "p", "field:key")).contains("resolver = ….class");
    assertThat(RuleText.yaml(one, "p", List.of(), "regex:(k)"))
        .isEqualTo(
            """
            limiter:
              policies:
                p:
                  observe: true
                  subject: …
                  rules:
                    - {count: 3, time: 1m}
            """);
  }
}
