// SPDX-License-Identifier: Apache-2.0
package io.limiter.planner;

import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.Counting;
import io.limiter.core.rule.Rule;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * The command line: {@code java -jar limiter-planner.jar access.log --path '/search/**' --rule
 * 60/1m}. Ends with 0; with 1 if nothing of the log can be planned; with 2 if the command line is
 * invalid.
 */
@Command(
    name = "limiter-planner",
    mixinStandardHelpOptions = true,
    versionProvider = PlannerCommand.Version.class,
    sortOptions = false,
    description =
        "Replays an access log through the engine of the limiter: what rules would have denied, or which rules deny little.",
    footer = {
      "",
      "Rules: COUNT/TIME or COUNT/TIME:ALGORITHM, such as 60/1m, 600/1h:sliding-window-counter,",
      "1000/1d:fixed-window,zone=Europe/Berlin, 20/1s:token-bucket,refill=5,",
      "2/1s:leaky-bucket,queue=10,max-wait=5s. Times: ms, s, m, h, d.",
      "",
      "Without --rule the smallest rules are searched that deny at most --deny-calls or",
      "--deny-subjects, for each window and algorithm."
    })
@SuppressWarnings("NullAway.Init") // picocli sets what is required
public final class PlannerCommand implements Callable<Integer> {

  private static final int FAILED = 1;
  private static final double DEFAULT_SHARE = 0.001;
  private static final Pattern POLICY = Pattern.compile("[a-zA-Z][\\w-]{0,63}");

  @Parameters(
      paramLabel = "LOG",
      arity = "1..*",
      description = "Access logs, also compressed by gzip; - is the standard input.")
  private List<Path> logs;

  @Option(
      names = "--rule",
      paramLabel = "RULE",
      description = "A rule to replay; several are decided together.")
  private List<String> rules = List.of();

  @Option(
      names = "--subject",
      paramLabel = "WHO",
      defaultValue = "ip",
      description = "Who is counted: ip (the default), user, field:NAME, regex:PATTERN, all.")
  private String subject;

  @Option(
      names = "--path",
      paramLabel = "PATTERN",
      description = "Only calls of such a path: /search/**.")
  private List<String> paths = List.of();

  @Option(names = "--except", paramLabel = "PATTERN", description = "No calls of such a path.")
  private List<String> excepted = List.of();

  @Option(
      names = "--method",
      paramLabel = "METHOD",
      split = ",",
      description = "Only calls of these methods.")
  private List<String> methods = List.of();

  @Option(
      names = "--format",
      paramLabel = "FORMAT",
      defaultValue = "auto",
      description =
          "auto (the default), combined, nginx, envoy, traefik, caddy, alb, micronaut, json, recorder, csv.")
  private String format;

  @Option(
      names = "--field",
      paramLabel = "FIELD=NAME",
      description =
          "Where a field is: time, address, user, method, path, status, forwarded or cost. A member of JSON, a column of CSV, or a column behind the status: referer, user-agent, extra-1.")
  private Map<String, String> fields = new LinkedHashMap<>();

  @Option(
      names = "--time-pattern",
      paramLabel = "PATTERN",
      description =
          "How times are written, such as 'yyyy-MM-dd HH:mm:ss'; usual ones are recognized.")
  private @Nullable String timePattern;

  @Option(
      names = "--zone",
      paramLabel = "ZONE",
      defaultValue = "UTC",
      description = "The zone of times without an offset; UTC by default.")
  private String zone;

  @Option(
      names = "--trusted-proxies",
      paramLabel = "NETWORK",
      split = ",",
      description = "Proxies whose field 'forwarded' names the client.")
  private List<String> proxies = List.of();

  @Option(
      names = "--leave-out-anonymous",
      description = "Leave out calls without the subject; else they are counted by address.")
  private boolean leaveOutAnonymous;

  @Option(
      names = "--ban",
      paramLabel = "BAN",
      description = "A ban: VIOLATIONS/WITHIN/TIME, such as 5/10m/1h.")
  private @Nullable String ban;

  @Option(
      names = "--counts",
      paramLabel = "CALLS",
      defaultValue = "all",
      description = "Which calls the rules count: all, failures, successes.")
  private String counts;

  @Option(
      names = "--failed-status",
      paramLabel = "STATUSES",
      defaultValue = "400-599",
      description = "Which statuses are failures; 400-599 by default.")
  private String failedStatus;

  @Option(
      names = "--denied-status",
      paramLabel = "STATUSES",
      defaultValue = "429",
      description = "By which statuses today's limiter denies, or none; 429 by default.")
  private String deniedStatus;

  @Option(
      names = "--leave-out-denied",
      description = "Do not replay the calls that today's limiter denied.")
  private boolean leaveOutDenied;

  @Option(
      names = "--deny-calls",
      paramLabel = "SHARE",
      description = "Propose rules that deny at most this share of calls: 0.1%%.")
  private @Nullable String denyCalls;

  @Option(
      names = "--deny-subjects",
      paramLabel = "NUMBER",
      description = "Propose rules that deny at most so many subjects.")
  private @Nullable Long denySubjects;

  @Option(
      names = "--algorithm",
      paramLabel = "ALGORITHM",
      split = ",",
      description =
          "Of which algorithms; by default sliding-window-log, sliding-window-counter, fixed-window, token-bucket.")
  private List<String> algorithms = Goal.ALGORITHMS;

  @Option(
      names = "--window",
      paramLabel = "TIME",
      split = ",",
      description = "For which windows; by default 1s, 10s, 1m, 5m, 15m, 1h, 6h, 1d.")
  private List<String> windows = List.of();

  @Option(
      names = "--policy",
      paramLabel = "NAME",
      description =
          "The name of the proposed policy, by default from the first path; of a recorded log, whose calls are replayed.")
  private @Nullable String policy;

  @Option(
      names = "--html",
      paramLabel = "FILE",
      description = "Write the report with plots to this file.")
  private @Nullable Path html;

  @Option(
      names = "--json",
      paramLabel = "FILE",
      description = "Write the report as JSON; - writes only that, to the standard output.")
  private @Nullable Path json;

  @Option(
      names = "--show-subjects",
      description = "Write subjects as they are in the log, in place of hashes.")
  private boolean showSubjects;

  @Option(
      names = "--salt",
      paramLabel = "TEXT",
      description = "The key of the hashes; random by default.")
  private @Nullable String salt;

  @Option(names = "--temp", paramLabel = "DIRECTORY", description = "Where temporary files are.")
  private @Nullable Path temp;

  private final PrintStream terminal;

  PlannerCommand(PrintStream terminal) {
    this.terminal = terminal;
  }

  /** The version of the jar. */
  static final class Version implements IVersionProvider {

    @Override
    public String[] getVersion() {
      String version = PlannerCommand.class.getPackage().getImplementationVersion();
      return new String[] {"limiter-planner " + (version == null ? "of classes" : version)};
    }
  }

  /** Runs the command line, and ends the process. */
  @SuppressWarnings("SystemConsoleNull") // as it is with this provider
  public static void main(String[] arguments) {
    // The engine warns through SLF4J, which has nothing to log with here.
    System.setProperty("slf4j.internal.verbosity", "ERROR");
    // Null unless a terminal reads, on every JDK.
    System.setProperty("jdk.console", "java.base");
    PrintWriter out = new PrintWriter(System.out, true, StandardCharsets.UTF_8);
    PrintWriter err = new PrintWriter(System.err, true, StandardCharsets.UTF_8);
    System.exit(run(arguments, out, err, System.console() == null ? null : System.err));
  }

  /**
   * Runs the command line.
   *
   * @param terminal shows the progress; null for none
   * @return the status of the process
   */
  static int run(
      String[] arguments, PrintWriter out, PrintWriter err, @Nullable PrintStream terminal) {
    PrintStream progress =
        terminal == null ? new PrintStream(PrintStream.nullOutputStream()) : terminal;
    CommandLine command = new CommandLine(new PlannerCommand(progress));
    command.setOut(out).setErr(err);
    command.setExecutionExceptionHandler(
        (failure, line, parsed) -> {
          line.getErr().println(message(failure));
          return failure instanceof IllegalArgumentException
              ? line.getCommandSpec().exitCodeOnInvalidInput()
              : FAILED;
        });
    int status = command.execute(arguments);
    out.flush();
    err.flush();
    return status;
  }

  private static String message(Exception failure) {
    if (failure instanceof IllegalArgumentException || failure instanceof LogException) {
      return String.valueOf(failure.getMessage());
    }
    Throwable cause =
        failure instanceof UncheckedIOException && failure.getCause() != null
            ? failure.getCause()
            : failure;
    return "Failed: %s; if the directory of temporary files is full, name another by --temp"
        .formatted(cause);
  }

  @picocli.CommandLine.Spec private CommandLine.Model.CommandSpec spec;

  @Override
  public Integer call() throws IOException {
    Optional<ReplayedRules> replayed = replayedRules();
    Optional<Goal> goal = goal(replayed.isEmpty());
    LogReader reader = reader();
    requireDirectory("--html", html);
    requireDirectory("--json", json);
    requireDifferent();
    String name = logs.stream().map(Path::toString).collect(Collectors.joining(", "));
    Progress progress = new Progress(terminal, logs);
    reader.progress(progress::read);
    try (AccessLog log = reader.read(logs.toArray(Path[]::new))) {
      if (log.summary().policy().isPresent() && isCountedByStatus(replayed)) {
        throw new IllegalArgumentException(
            "--counts is '%s': a recorded log has no statuses, so use all".formatted(counts));
      }
      String policyName = log.summary().policy().orElseGet(this::policyName);
      Optional<Replay> replay = replayed.map(log::replay);
      List<Proposal> proposals =
          goal.map(one -> log.propose(one, progress::searched)).orElse(List.of());
      List<Proposal.Point> points =
          html == null && json == null
              ? List.of()
              : Report.chosen(proposals).map(one -> one.around(log)).orElse(List.of());
      Report report =
          new Report(
              name,
              policyName,
              paths,
              subject,
              log.summary(),
              log.subjects(),
              log.busiest(),
              log.apart(),
              log.demand(),
              replay,
              goal,
              proposals,
              points);
      progress.end();
      write(report);
    } finally {
      progress.end();
    }
    return CommandLine.ExitCode.OK;
  }

  /** Before a log is read for minutes. */
  private static void requireDirectory(String option, @Nullable Path file) {
    if (file == null || file.equals(LogReader.STANDARD_INPUT)) {
      return;
    }
    Path parent = file.toAbsolutePath().getParent();
    if (Files.isDirectory(file) || parent == null || !Files.isDirectory(parent)) {
      throw new IllegalArgumentException(
          "%s is '%s': use a file in a directory that exists".formatted(option, file));
    }
  }

  /** A report must not replace the log, nor a log be counted twice. */
  private void requireDifferent() throws IOException {
    for (int l = 0; l < logs.size(); l++) {
      Path log = logs.get(l);
      for (Path other : logs.subList(0, l)) {
        if (isSame(log, other)) {
          throw new IllegalArgumentException(
              "The log '%s' is named twice: name it once".formatted(log));
        }
      }
      for (Path report : Stream.of(html, json).filter(Objects::nonNull).toList()) {
        if (!log.equals(LogReader.STANDARD_INPUT) && isSame(log, report)) {
          throw new IllegalArgumentException(
              "The report would replace the log '%s': use another file".formatted(log));
        }
      }
    }
    if (html != null && json != null && isSame(html, json)) {
      throw new IllegalArgumentException(
          "--html and --json are both '%s': use two files".formatted(html));
    }
  }

  private static boolean isSame(Path one, Path other) throws IOException {
    return one.equals(other)
        || (Files.isRegularFile(one) && Files.exists(other) && Files.isSameFile(one, other));
  }

  private void write(Report report) throws IOException {
    if (html != null) {
      Files.writeString(html, report.html());
    }
    if (json != null && !json.equals(LogReader.STANDARD_INPUT)) {
      Files.writeString(json, report.json());
    }
    PrintWriter out = spec.commandLine().getOut();
    out.print(LogReader.STANDARD_INPUT.equals(json) ? report.json() : report.text());
    out.flush();
  }

  private Optional<ReplayedRules> replayedRules() {
    Counting counting =
        switch (counts.toLowerCase(Locale.ROOT)) {
          case "all" -> Counting.ALL;
          case "failures" -> Counting.FAILURES;
          case "successes" -> Counting.SUCCESSES;
          default ->
              throw new IllegalArgumentException(
                  "--counts is '%s': use all, failures or successes".formatted(counts));
        };
    Optional<BanRule> banned = Optional.ofNullable(ban).map(RuleText::parseBan);
    if (rules.isEmpty()) {
      if (banned.isPresent() || counting != Counting.ALL) {
        throw new IllegalArgumentException(
            "--ban and --counts are about rules: add --rule, such as --rule 60/1m");
      }
      return Optional.empty();
    }
    List<Rule> parsed = rules.stream().map(RuleText::parse).toList();
    return Optional.of(new ReplayedRules(parsed, banned, counting));
  }

  private Optional<Goal> goal(boolean always) {
    if (denyCalls != null && denySubjects != null) {
      throw new IllegalArgumentException("--deny-calls and --deny-subjects are two goals: use one");
    }
    if (denySubjects != null) {
      return Optional.of(Goal.ofSubjects(denySubjects).withAlgorithms(algorithms));
    }
    if (denyCalls != null || always) {
      double share = denyCalls == null ? DEFAULT_SHARE : share(denyCalls);
      return Optional.of(Goal.ofCalls(share).withAlgorithms(algorithms));
    }
    if (!algorithms.equals(Goal.ALGORITHMS)) {
      throw new IllegalArgumentException(
          "--algorithm is about rules that are searched: remove --rule, or add --deny-calls or --deny-subjects");
    }
    return Optional.empty();
  }

  private static double share(String written) {
    boolean percent = written.trim().endsWith("%");
    String number = percent ? written.trim().substring(0, written.trim().length() - 1) : written;
    try {
      double value = Double.parseDouble(number.trim());
      return percent ? value / 100 : value;
    } catch (NumberFormatException notANumber) {
      throw new IllegalArgumentException(
          "--deny-calls is '%s': use a share such as 0.1%% or 0.001".formatted(written),
          notANumber);
    }
  }

  private LogReader reader() {
    LogReader reader =
        AccessLog.reader()
            .format(LogFormat.named(format))
            .zone(zoneId())
            .subject(subject)
            .trustedProxies(proxies)
            .leaveOutAnonymous(leaveOutAnonymous)
            .failedStatuses(failedStatus)
            .deniedStatuses(deniedStatus, leaveOutDenied)
            .showSubjects(showSubjects);
    fields.forEach(reader::field);
    paths.forEach(reader::path);
    excepted.forEach(reader::except);
    methods.forEach(reader::method);
    if (timePattern != null) {
      reader.timePattern(timePattern);
    }
    if (salt != null) {
      reader.salt(salt);
    }
    if (policy != null) {
      reader.policy(policy);
    }
    if (temp != null) {
      reader.directory(temp);
    }
    if (!windows.isEmpty()) {
      reader.windows(windows.stream().map(RuleText::time).sorted().distinct().toList());
    }
    return reader;
  }

  private ZoneId zoneId() {
    try {
      return ZoneId.of(zone);
    } catch (DateTimeException unknown) {
      throw new IllegalArgumentException(
          "--zone is '%s': use a zone such as Europe/Berlin or UTC".formatted(zone), unknown);
    }
  }

  private static boolean isCountedByStatus(Optional<ReplayedRules> rules) {
    return rules.filter(some -> some.counting() != Counting.ALL).isPresent();
  }

  private String policyName() {
    if (policy != null) {
      if (!POLICY.matcher(policy).matches()) {
        throw new IllegalArgumentException(
            "--policy is '%s': use a letter, then letters, digits and hyphens".formatted(policy));
      }
      return policy;
    }
    for (String path : paths) {
      for (String segment : path.split("/")) {
        if (POLICY.matcher(segment).matches()) {
          return segment.toLowerCase(Locale.ROOT);
        }
      }
    }
    return "planned";
  }

  /** How far it is, on one line of a terminal. */
  private static final class Progress {

    private static final long EACH_NANOS = 200_000_000;

    private final PrintStream terminal;
    private final long bytes;
    private final long start = System.nanoTime();
    private long searchStart;
    private long shown;
    private boolean open;

    Progress(PrintStream terminal, List<Path> logs) {
      this.terminal = terminal;
      long sum = 0;
      for (Path log : logs) {
        try {
          sum += log.equals(LogReader.STANDARD_INPUT) ? 0 : Files.size(log);
        } catch (IOException unknown) {
          // read reports it
        }
      }
      this.bytes = sum;
    }

    void read(long some) {
      show(
          "reading, %s MB".formatted(some / 1_000_000),
          bytes == 0 ? 0 : (double) some / bytes,
          start);
    }

    void searched(double share) {
      searchStart = searchStart == 0 ? System.nanoTime() : searchStart;
      show("searching rules", share, searchStart);
    }

    private void show(String what, double share, long since) {
      long now = System.nanoTime();
      if (now - shown < EACH_NANOS && shown != 0) {
        return;
      }
      shown = now;
      open = true;
      String rest = "";
      if (share > 0 && share < 1) {
        Duration left = Duration.ofNanos((long) ((now - since) * (1 - share) / share));
        rest = ", %s %%, about %s s left".formatted((int) (100 * share), left.toSeconds() + 1);
      }
      terminal.print("\r%s%s\u001b[K".formatted(what, rest));
      terminal.flush();
    }

    void end() {
      if (open) {
        terminal.print("\r\u001b[K");
        terminal.flush();
        open = false;
      }
    }
  }

  /** What the options are, for tests of their documentation. */
  static List<String> options() {
    List<String> names = new ArrayList<>();
    new CommandLine(new PlannerCommand(System.err))
        .getCommandSpec()
        .options()
        .forEach(option -> names.add(option.longestName()));
    return names;
  }
}
