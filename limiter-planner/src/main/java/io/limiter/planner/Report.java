// SPDX-License-Identifier: Apache-2.0
package io.limiter.planner;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.util.DefaultIndenter;
import com.fasterxml.jackson.core.util.DefaultPrettyPrinter;
import io.limiter.core.rule.Rule;
import io.limiter.planner.AccessLog.BusySubject;
import io.limiter.planner.AccessLog.Summary;
import io.limiter.planner.Demand.Range;
import io.limiter.planner.Demand.Window;
import io.limiter.planner.Proposal.Point;
import io.limiter.planner.Replay.DeniedSubject;
import io.limiter.planner.Replay.Slot;
import io.limiter.planner.Replay.Tally;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * What was found, as text, JSON or one HTML file.
 *
 * @param name of the log
 * @param policy the name of the proposed policy
 * @param paths the selected paths
 * @param subject who is counted, as {@link LogReader#subject} reads it
 * @param summary what was read
 * @param subjects the number of subjects
 * @param busiest the subjects with the most units
 * @param apart the subject that is named apart
 * @param demand the largest numbers of calls in windows
 * @param replay the rules that were given
 * @param goal what proposals may deny
 * @param proposals the smallest rules that reach the goal
 * @param points what counts around that of {@link #chosen()} deny
 */
public record Report(
    String name,
    String policy,
    List<String> paths,
    String subject,
    Summary summary,
    long subjects,
    List<BusySubject> busiest,
    Optional<BusySubject> apart,
    Demand demand,
    Optional<Replay> replay,
    Optional<Goal> goal,
    List<Proposal> proposals,
    List<Point> points) {

  /** Above this an exact log is denied by the default of {@code limiter.max-count}. */
  private static final long MAX_LOG = 10_000;

  /** More full seconds than these are not by chance: logs of both kinds are read together. */
  private static final int MIXED_CALLS = 10;

  private static final double MIXED_SHARE = 0.05;

  private static final int SHOWN = 10;
  private static final int SHOWN_SLOTS = 24;

  public Report {
    paths = List.copyOf(paths);
    busiest = List.copyOf(busiest);
    proposals = List.copyOf(proposals);
    points = List.copyOf(points);
  }

  /**
   * The proposal that is shown ready to paste: of the window nearest to a minute the first
   * algorithm that the goal names, but no exact log above 10,000, the default of {@code
   * limiter.max-count}.
   */
  public Optional<Proposal> chosen() {
    return chosen(proposals);
  }

  static Optional<Proposal> chosen(List<Proposal> proposals) {
    return proposals.stream()
        .filter(
            one -> !one.algorithm().equals("sliding-window-log") || one.rule().count() <= MAX_LOG)
        .min(
            Comparator.comparingLong(
                one -> Math.abs(one.window().minus(Duration.ofMinutes(1)).toMillis())));
  }

  /** What has to be known to read the figures. */
  public List<String> notes() {
    List<String> notes = new ArrayList<>();
    if (summary.wholeSeconds()) {
      boolean certain = replay.map(Replay::certain).orElse(true);
      notes.add(
          "The times of the log are full seconds. The first of two figures is what the rules deny at least, the second what they deny at most"
              + (certain
                  ? "."
                  : "; for these rules they are the extremes of three placements of the calls in their seconds, and no certain bounds.")
              + " Proposals reach their goal by the second.");
    } else if (summary.wholeSecondCalls() > MIXED_CALLS
        && summary.wholeSecondCalls() > MIXED_SHARE * summary.calls()) {
      notes.add(
          "%s of %s times are full seconds, others have fractions, and all are replayed as they are. If the former are rounded, the figures are not exact: read logs of full seconds by themselves."
              .formatted(number(summary.wholeSecondCalls()), number(summary.calls())));
    }
    if (summary.deniedToday() > 0) {
      notes.add(
          "Calls that today's limiter denied: %s (%s of the selected). %s Callers repeat denied calls, so a log under a limit has calls that would not be made without it, and others under another one."
              .formatted(
                  number(summary.deniedToday()),
                  percent(share(summary.deniedToday(), summary.calls() + summary.leftOut())),
                  summary.leftOut() >= summary.deniedToday()
                      ? "They are left out."
                      : "They are replayed, since the new limit sees them, too."));
    } else if (summary.policy().isEmpty()) {
      notes.add(
          "No call has a status of today's limiter. If there is one, its denied calls are not in this log, and the demand is larger than it looks. The rules' own denials change what callers do next: clients repeat calls, or give up. The replay does not know.");
    }
    if (apart.isPresent()) {
      notes.add(
          "One subject, %s, makes %s of all calls, ten times those of the next. It is named apart: not among the percentiles, and proposals may deny it."
              .formatted(apart.get().name(), percent(share(apart.get().calls(), summary.calls()))));
    }
    if (summary.anonymous() > 0) {
      notes.add(
          "Calls without a subject, which are counted by their address: %s."
              .formatted(number(summary.anonymous())));
    }
    if (summary.leftOut() > 0) {
      notes.add(
          "Selected calls that are left out: %s. They have no subject, a cost of 0, or were denied by today's limiter or, in a recorded log, by something else than the policy."
              .formatted(number(summary.leftOut())));
    }
    if (summary.outOfOrder() > 0) {
      notes.add(
          "Calls that are earlier than one before them in the log, and are replayed in the order of their times: %s."
              .formatted(number(summary.outOfOrder())));
    }
    if (summary.unreadable() > 0) {
      notes.add(
          "%s of %s lines could not be read, such as: %s"
              .formatted(
                  number(summary.unreadable()),
                  number(summary.lines()),
                  String.join(" | ", summary.examples())));
    }
    return notes;
  }

  private String heading() {
    return "%s: %s of %s, %s to %s, %s, at most %s in a second"
        .formatted(
            name,
            count(summary.calls(), "call"),
            count(subjects, "subject"),
            summary.first(),
            summary.last(),
            String.join(" and ", summary.formats()),
            number(summary.peakPerSecond()))
        .concat(
            summary.otherCalls() == 0
                ? ""
                : "; other calls: %s".formatted(number(summary.otherCalls())));
  }

  /** Also of a recorded log, which has the outcomes of one policy in their place. */
  private String statuses() {
    if (summary.policy().isPresent()) {
      return summary.outcomes().entrySet().stream()
          .map(one -> one.getKey() + ": " + number(one.getValue()))
          .collect(Collectors.joining(", ", "Recorded of " + policy + ": ", ""));
    }
    return summary.statuses().entrySet().stream()
        .map(one -> (one.getKey() == 0 ? "none" : one.getKey()) + ": " + number(one.getValue()))
        .collect(Collectors.joining(", ", "Statuses: ", ""));
  }

  // Text

  /** The report for a terminal. */
  public String text() {
    StringBuilder out = new StringBuilder(heading()).append('\n');
    out.append(statuses()).append('\n');
    notes().forEach(note -> out.append("* ").append(note).append('\n'));
    replay.ifPresent(one -> text(out, one));
    out.append("\nMost calls of a subject in any window");
    apart.ifPresent(one -> out.append("; apart: ").append(one.name()));
    out.append('\n');
    List<List<String>> rows = new ArrayList<>();
    rows.add(demandHead());
    demand.windows().forEach(window -> rows.add(demandRow(window)));
    table(out, rows);
    goal.ifPresent(
        one -> {
          out.append('\n').append(goalText(one)).append('\n');
          List<List<String>> counts = new ArrayList<>();
          counts.add(proposalHead(one));
          counts.addAll(proposalRows(one));
          table(out, counts);
          chosen()
              .ifPresent(
                  best ->
                      out.append(
                              "\n%s, which denies %s\n\n"
                                  .formatted(RuleText.of(best.rule()), denies(best)))
                          .append(annotation(best))
                          .append("\n\n")
                          .append(yaml(best)));
        });
    return out.toString();
  }

  private void text(StringBuilder out, Replay one) {
    Tally least = one.least();
    Tally most = one.most();
    out.append("\nRules ").append(rulesText(one)).append('\n');
    replayFigures(one).forEach((what, figure) -> out.append("  %s: %s\n".formatted(what, figure)));
    if (most.denied() == 0) {
      return;
    }
    out.append("  Denied most, of their calls: ")
        .append(
            most.top().stream()
                .limit(SHOWN)
                .map(
                    top ->
                        "%s %s of %s"
                            .formatted(top.name(), number(top.denied()), number(top.calls())))
                .collect(Collectors.joining(", ")))
        .append('\n');
    List<List<String>> rows = new ArrayList<>();
    rows.add(List.of("from", "calls", "denied"));
    for (int s = 0; s < most.overTime().size(); s++) {
      Slot slot = most.overTime().get(s);
      if (slot.denied() > 0 && rows.size() <= SHOWN_SLOTS) {
        rows.add(
            List.of(
                slot.time().toString(),
                number(slot.calls()),
                range(least.overTime().get(s).denied(), slot.denied())));
      }
    }
    out.append("  Denied by ").append(RuleText.of(most.slot())).append(":\n");
    table(out, rows);
    long further =
        most.overTime().stream().filter(slot -> slot.denied() > 0).count() - rows.size() + 1;
    if (further > 0) {
      out.append("  and %s more, which --json has\n".formatted(number(further)));
    }
  }

  private Map<String, String> replayFigures(Replay one) {
    Tally least = one.least();
    Tally most = one.most();
    Map<String, String> figures = new LinkedHashMap<>();
    figures.put(
        "Denied",
        "%s of %s (%s), %s of %s"
            .formatted(
                range(least.denied(), most.denied()),
                count(most.calls(), "call"),
                least.denied() == most.denied()
                    ? percent(most.share())
                    : percent(least.share()) + " to " + percent(most.share()),
                range(least.deniedSubjects(), most.deniedSubjects()),
                count(most.subjects(), "subject")));
    if (most.denied() > 0) {
      figures.put(
          "By",
          most.deniedByRule().entrySet().stream()
              .sorted(Map.Entry.comparingByKey())
              .map(by -> by.getKey() + " " + number(by.getValue()))
              .collect(Collectors.joining(", ")));
      figures.put("Longest wait", time(most.longestWait()));
    }
    if (!most.longestDelay().isZero()) {
      figures.put("Longest delay of an admitted call", time(most.longestDelay()));
    }
    if (most.neverAdmitted() > 0) {
      figures.put("Cost more than a rule ever admits", count(most.neverAdmitted(), "call"));
    }
    figures.put("Counted", count(most.counted(), "unit"));
    figures.put(
        "Redis",
        "%s, at most %s in a second; at most about %s for %s at a time"
            .formatted(
                count(most.redis().commands(), "command"),
                number(most.redis().peakPerSecond()),
                bytes(most.redis().peakBytes()),
                count(most.redis().peakSubjects(), "subject")));
    return figures;
  }

  private static String rulesText(Replay one) {
    return one.rules().rules().stream().map(RuleText::of).collect(Collectors.joining(", "))
        + one.rules()
            .ban()
            .map(
                ban ->
                    "; ban %s/%s/%s"
                        .formatted(
                            ban.violations(), RuleText.of(ban.within()), RuleText.of(ban.time())))
            .orElse("")
        + switch (one.rules().counting()) {
          case ALL -> "";
          case FAILURES -> "; failures";
          case SUCCESSES -> "; successes";
        };
  }

  private List<String> demandHead() {
    List<String> head = new ArrayList<>(List.of("window", "p50", "p90", "p99", "p99.9", "max"));
    apart.ifPresent(one -> head.add("apart"));
    return head;
  }

  private List<String> demandRow(Window window) {
    List<String> row = new ArrayList<>();
    row.add(RuleText.of(window.window()));
    for (Range range :
        List.of(window.p50(), window.p90(), window.p99(), window.p999(), window.max())) {
      row.add(range(range.least(), range.most()));
    }
    window.apart().ifPresent(range -> row.add(range(range.least(), range.most())));
    return row;
  }

  private static String goalText(Goal goal) {
    return "The smallest counts that deny at most "
        + goal.callShare()
            .map(share -> percent(share) + " of calls")
            .orElseGet(() -> count(goal.subjects().orElse(0L), "subject"));
  }

  private static List<String> proposalHead(Goal goal) {
    List<String> head = new ArrayList<>();
    head.add("window");
    head.addAll(goal.algorithms());
    return head;
  }

  private List<List<String>> proposalRows(Goal goal) {
    List<List<String>> rows = new ArrayList<>();
    for (Window window : demand.windows()) {
      List<String> row = new ArrayList<>();
      row.add(RuleText.of(window.window()));
      for (String algorithm : goal.algorithms()) {
        row.add(
            proposals.stream()
                .filter(one -> one.window().equals(window.window()))
                .filter(one -> one.algorithm().equals(algorithm))
                .map(one -> number(one.rule().count()))
                .findFirst()
                .orElse("none"));
      }
      rows.add(row);
    }
    return rows;
  }

  private String denies(Proposal best) {
    return "%s of %s"
        .formatted(count(best.deniedCalls(), "call"), count(best.deniedSubjects(), "subject"))
        .concat(
            apart
                .map(one -> ", and %s of %s".formatted(number(best.deniedApart()), one.name()))
                .orElse(""));
  }

  private String annotation(Proposal best) {
    return RuleText.annotation(
        List.of(best.rule()), policyInCode(), summary.policy().isPresent() ? "ip" : subject);
  }

  /** A recorded policy exists: other numbers of one that is enforced are tried beside its own. */
  private String yaml(Proposal best) {
    List<Rule> rules = List.of(best.rule());
    if (summary.policy().isEmpty()) {
      return RuleText.yaml(rules, policy, paths, subject);
    }
    return summary.outcomes().containsKey("observed")
        ? RuleText.yaml(rules, policyInCode(), List.of(), "ip")
        : RuleText.trialYaml(rules, policyInCode());
  }

  /** Without the subject, of which the name of a recorded policy may have one. */
  private String policyInCode() {
    int colon = policy.indexOf(':');
    return summary.policy().isEmpty() || colon < 1 ? policy : policy.substring(0, colon);
  }

  private static void table(StringBuilder out, List<List<String>> rows) {
    int columns = rows.get(0).size();
    int[] widths = new int[columns];
    for (List<String> row : rows) {
      for (int c = 0; c < columns; c++) {
        widths[c] = Math.max(widths[c], row.get(c).length());
      }
    }
    for (List<String> row : rows) {
      out.append(' ');
      for (int c = 0; c < columns; c++) {
        String pad = " ".repeat(widths[c] - row.get(c).length());
        out.append(' ').append(c == 0 ? row.get(c) + pad : pad + row.get(c)).append(' ');
      }
      out.append('\n');
    }
  }

  private static String range(long least, long most) {
    return least == most ? number(most) : number(least) + "–" + number(most);
  }

  private static double share(long some, long all) {
    return all == 0 ? 0 : (double) some / all;
  }

  private static String count(long value, String what) {
    return number(value) + " " + what + (value == 1 ? "" : "s");
  }

  static String number(long value) {
    return String.format(Locale.ROOT, "%,d", value);
  }

  private static String percent(double share) {
    double percent = 100 * share;
    return String.format(Locale.ROOT, percent != 0 && percent < 1 ? "%.3f %%" : "%.1f %%", percent);
  }

  private static String time(Duration time) {
    long seconds = time.toSeconds();
    if (seconds >= 7_200) {
      return String.format(Locale.ROOT, "%.1f h", seconds / 3_600.0);
    }
    return seconds >= 120
        ? String.format(Locale.ROOT, "%.1f min", seconds / 60.0)
        : String.format(Locale.ROOT, "%.3f s", time.toNanos() / 1e9);
  }

  private static String bytes(long bytes) {
    if (bytes >= 10_000_000) {
      return number(bytes / 1_000_000) + " MB";
    }
    return bytes >= 10_000 ? number(bytes / 1_000) + " kB" : number(bytes) + " bytes";
  }

  // JSON

  /** The report as one JSON object. */
  public String json() {
    StringWriter text = new StringWriter();
    try (JsonGenerator json = new JsonFactory().createGenerator(text)) {
      json.setPrettyPrinter(
          new DefaultPrettyPrinter().withObjectIndenter(new DefaultIndenter("  ", "\n")));
      json.writeStartObject();
      json.writeStringField("log", name);
      json.writeNumberField("lines", summary.lines());
      json.writeNumberField("unreadable", summary.unreadable());
      json.writeNumberField("otherCalls", summary.otherCalls());
      json.writeNumberField("leftOut", summary.leftOut());
      json.writeNumberField("anonymous", summary.anonymous());
      json.writeNumberField("outOfOrder", summary.outOfOrder());
      json.writeNumberField("deniedToday", summary.deniedToday());
      json.writeNumberField("calls", summary.calls());
      json.writeNumberField("subjects", subjects);
      json.writeStringField("first", summary.first().toString());
      json.writeStringField("last", summary.last().toString());
      json.writeBooleanField("wholeSeconds", summary.wholeSeconds());
      json.writeObjectFieldStart("statuses");
      for (Map.Entry<Integer, Long> one : summary.statuses().entrySet()) {
        json.writeNumberField(one.getKey() == 0 ? "none" : one.getKey().toString(), one.getValue());
      }
      json.writeEndObject();
      if (summary.policy().isPresent()) {
        json.writeStringField("policy", policy);
        json.writeObjectFieldStart("outcomes");
        for (Map.Entry<String, Long> one : summary.outcomes().entrySet()) {
          json.writeNumberField(one.getKey(), one.getValue());
        }
        json.writeEndObject();
      }
      strings(json, "notes", notes());
      json.writeArrayFieldStart("busiest");
      for (BusySubject one : busiest) {
        json.writeStartObject();
        json.writeStringField("subject", one.name());
        json.writeNumberField("calls", one.calls());
        json.writeNumberField("units", one.units());
        json.writeBooleanField("apart", apart.filter(one::equals).isPresent());
        json.writeEndObject();
      }
      json.writeEndArray();
      demand(json);
      if (replay.isPresent()) {
        replay(json, replay.get());
      }
      if (goal.isPresent()) {
        proposals(json, goal.get());
      }
      json.writeEndObject();
    } catch (IOException toMemory) {
      throw new UncheckedIOException(toMemory);
    }
    return text.append("\n").toString();
  }

  private static void strings(JsonGenerator json, String name, List<String> texts)
      throws IOException {
    json.writeArrayFieldStart(name);
    for (String text : texts) {
      json.writeString(text);
    }
    json.writeEndArray();
  }

  private void demand(JsonGenerator json) throws IOException {
    json.writeArrayFieldStart("demand");
    for (Window window : demand.windows()) {
      json.writeStartObject();
      json.writeStringField("window", RuleText.of(window.window()));
      range(json, "p50", window.p50());
      range(json, "p90", window.p90());
      range(json, "p99", window.p99());
      range(json, "p99.9", window.p999());
      range(json, "max", window.max());
      if (window.apart().isPresent()) {
        range(json, "apart", window.apart().get());
      }
      json.writeEndObject();
    }
    json.writeEndArray();
  }

  private static void range(JsonGenerator json, String name, Range range) throws IOException {
    json.writeArrayFieldStart(name);
    json.writeNumber(range.least());
    json.writeNumber(range.most());
    json.writeEndArray();
  }

  private void replay(JsonGenerator json, Replay one) throws IOException {
    json.writeObjectFieldStart("replay");
    strings(json, "rules", one.rules().rules().stream().map(RuleText::of).toList());
    json.writeBooleanField("certain", one.certain());
    tally(json, "least", one.least());
    tally(json, "most", one.most());
    json.writeEndObject();
  }

  private static void tally(JsonGenerator json, String name, Tally tally) throws IOException {
    json.writeObjectFieldStart(name);
    json.writeNumberField("calls", tally.calls());
    json.writeNumberField("denied", tally.denied());
    json.writeNumberField("countedUnits", tally.counted());
    json.writeNumberField("deniedSubjects", tally.deniedSubjects());
    json.writeNumberField("longestWaitSeconds", tally.longestWait().toNanos() / 1e9);
    json.writeNumberField("longestDelaySeconds", tally.longestDelay().toNanos() / 1e9);
    json.writeNumberField("neverAdmitted", tally.neverAdmitted());
    json.writeObjectFieldStart("deniedByRule");
    for (Map.Entry<String, Long> by : tally.deniedByRule().entrySet()) {
      json.writeNumberField(by.getKey(), by.getValue());
    }
    json.writeEndObject();
    json.writeArrayFieldStart("top");
    for (DeniedSubject top : tally.top()) {
      json.writeStartObject();
      json.writeStringField("subject", top.name());
      json.writeNumberField("calls", top.calls());
      json.writeNumberField("denied", top.denied());
      json.writeEndObject();
    }
    json.writeEndArray();
    json.writeStringField("slot", RuleText.of(tally.slot()));
    json.writeArrayFieldStart("overTime");
    for (Slot slot : tally.overTime()) {
      if (slot.calls() > 0) {
        json.writeStartObject();
        json.writeStringField("from", slot.time().toString());
        json.writeNumberField("calls", slot.calls());
        json.writeNumberField("denied", slot.denied());
        json.writeEndObject();
      }
    }
    json.writeEndArray();
    json.writeObjectFieldStart("redis");
    json.writeNumberField("commands", tally.redis().commands());
    json.writeNumberField("peakPerSecond", tally.redis().peakPerSecond());
    json.writeNumberField("peakSubjects", tally.redis().peakSubjects());
    json.writeNumberField("peakBytes", tally.redis().peakBytes());
    json.writeEndObject();
    json.writeEndObject();
  }

  private void proposals(JsonGenerator json, Goal of) throws IOException {
    json.writeObjectFieldStart("goal");
    if (of.callShare().isPresent()) {
      json.writeNumberField("callShare", of.callShare().get());
    } else {
      json.writeNumberField("subjects", of.subjects().orElse(0L));
    }
    json.writeEndObject();
    json.writeArrayFieldStart("proposals");
    for (Proposal one : proposals) {
      json.writeStartObject();
      json.writeStringField("window", RuleText.of(one.window()));
      json.writeStringField("algorithm", one.algorithm());
      json.writeNumberField("count", one.rule().count());
      json.writeStringField("rule", RuleText.of(one.rule()));
      json.writeNumberField("deniedCalls", one.deniedCalls());
      json.writeNumberField("deniedSubjects", one.deniedSubjects());
      json.writeNumberField("deniedApart", one.deniedApart());
      json.writeBooleanField("chosen", chosen().filter(one::equals).isPresent());
      json.writeStringField("annotation", annotation(one));
      json.writeStringField("yaml", yaml(one));
      json.writeEndObject();
    }
    json.writeEndArray();
    json.writeArrayFieldStart("counts");
    for (Point point : points) {
      json.writeStartObject();
      json.writeNumberField("count", point.count());
      json.writeNumberField("deniedCalls", point.deniedCalls());
      json.writeNumberField("deniedSubjects", point.deniedSubjects());
      json.writeEndObject();
    }
    json.writeEndArray();
  }

  // HTML

  /** The report as one HTML file, without scripts and without other files. */
  public String html() {
    StringBuilder out = new StringBuilder(HtmlPlots.head("Limits for " + name));
    out.append("<h1>Limits for ").append(HtmlPlots.escape(name)).append("</h1>\n<p>");
    out.append(HtmlPlots.escape(heading())).append("</p>\n<p>");
    out.append(HtmlPlots.escape(statuses())).append("</p>\n");
    replay.ifPresent(one -> html(out, one));
    out.append(
        "<h2>How subjects call</h2>\n<p>The most calls of a subject in any window: half of the subjects have at most p50, one in a thousand more than p99.9.</p>\n");
    List<List<String>> rows = new ArrayList<>();
    demand.windows().forEach(window -> rows.add(demandRow(window)));
    htmlTable(out, demandHead(), rows);
    plottedWindow()
        .ifPresent(
            window ->
                out.append(
                    HtmlPlots.bars(
                        "Subjects by their most calls in %s"
                            .formatted(RuleText.of(window.window())),
                        "calls",
                        "subjects",
                        window.distribution().stream()
                            .map(
                                bar ->
                                    new HtmlPlots.Bar(
                                        range(bar.from(), bar.to()), bar.subjects(), 0))
                            .toList(),
                        true)));
    htmlTable(
        out,
        List.of("busiest subjects", "calls", "of all"),
        busiest.stream()
            .limit(SHOWN)
            .map(
                one ->
                    List.of(
                        one.name(),
                        number(one.calls()),
                        percent(share(one.calls(), summary.calls()))))
            .toList());
    goal.ifPresent(one -> html(out, one));
    out.append("<h2>To read the figures</h2>\n<ul>\n");
    notes().forEach(note -> out.append("<li>").append(HtmlPlots.escape(note)).append("</li>\n"));
    return out.append("</ul>\n</main>\n</body>\n</html>\n").toString();
  }

  private Optional<Window> plottedWindow() {
    Duration wanted =
        replay
            .map(one -> one.rules().rules().get(0).window())
            .or(() -> chosen().map(Proposal::window))
            .orElse(Duration.ofMinutes(1));
    return demand.windows().stream()
        .min(Comparator.comparing(one -> one.window().minus(wanted).abs()));
  }

  private void html(StringBuilder out, Replay one) {
    out.append("<h2>Rules <code>")
        .append(HtmlPlots.escape(rulesText(one)))
        .append("</code></h2>\n<dl>\n");
    replayFigures(one)
        .forEach(
            (what, figure) ->
                out.append(
                    "<dt>%s</dt><dd>%s</dd>\n"
                        .formatted(HtmlPlots.escape(what), HtmlPlots.escape(figure))));
    out.append("</dl>\n");
    Tally most = one.most();
    out.append(
        HtmlPlots.bars(
            "Calls over time, by " + RuleText.of(most.slot()),
            "time",
            "calls",
            HtmlPlots.joined(
                most.overTime().stream()
                    .map(
                        slot ->
                            new HtmlPlots.Bar(slot.time().toString(), slot.calls(), slot.denied()))
                    .toList()),
            false));
    if (most.denied() > 0) {
      htmlTable(
          out,
          List.of("denied most", "denied", "of its calls"),
          most.top().stream()
              .limit(SHOWN)
              .map(top -> List.of(top.name(), number(top.denied()), number(top.calls())))
              .toList());
    }
  }

  private void html(StringBuilder out, Goal of) {
    out.append("<h2>Proposals</h2>\n<p>").append(HtmlPlots.escape(goalText(of))).append(":</p>\n");
    htmlTable(out, proposalHead(of), proposalRows(of));
    chosen()
        .ifPresent(
            best -> {
              if (!points.isEmpty()) {
                out.append(
                    HtmlPlots.line(
                        "Calls that each count in %s would deny"
                            .formatted(RuleText.of(best.window())),
                        "count",
                        "denied calls",
                        points));
              }
              out.append(
                  "<p><code>%s</code> denies %s. %s:</p>\n<pre tabindex=\"0\"><code>%s</code></pre>\n<pre tabindex=\"0\"><code>%s</code></pre>\n"
                      .formatted(
                          HtmlPlots.escape(RuleText.of(best.rule())),
                          HtmlPlots.escape(denies(best)),
                          summary.policy().isEmpty()
                              ? "To observe it first"
                              : "As settings of the service",
                          HtmlPlots.escape(annotation(best)),
                          HtmlPlots.escape(yaml(best))));
            });
  }

  private static void htmlTable(StringBuilder out, List<String> head, List<List<String>> rows) {
    out.append("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Table: ")
        .append(HtmlPlots.escape(String.join(", ", head))) // landmarks need different names
        .append("\"><table>\n<thead><tr>");
    head.forEach(
        cell -> out.append("<th scope=\"col\">").append(HtmlPlots.escape(cell)).append("</th>"));
    out.append("</tr></thead>\n<tbody>\n");
    for (List<String> row : rows) {
      out.append("<tr><th scope=\"row\">").append(HtmlPlots.escape(row.get(0))).append("</th>");
      row.stream()
          .skip(1)
          .forEach(cell -> out.append("<td>").append(HtmlPlots.escape(cell)).append("</td>"));
      out.append("</tr>\n");
    }
    out.append("</tbody></table></div>\n");
  }
}
