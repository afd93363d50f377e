// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.DecidedBy;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.limiter.core.rule.Rule;
import io.limiter.core.testing.RecordedLog;
import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.call.AdmissionControl.VerdictListener;
import io.limiter.micronaut.call.ArrivingCall;
import io.limiter.micronaut.testing.Starts;
import io.limiter.planner.AccessLog;
import io.limiter.planner.Replay;
import io.limiter.planner.RuleText;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a service records, and what the planner makes of it. */
class RecorderTest {

  private static final String SPEC = "RecorderTest";
  private static final String RECORDER = "io.limiter.micronaut.recorder";
  private static final String HEADER = "time,policy,subject,cost,outcome";
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  @Controller("/recorded")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    @Get("/observed")
    @RateLimiter(
        value = "observed",
        header = "X-Key",
        rules = {
          @RateRule(count = 2, time = 400, timeUnit = TimeUnit.MILLISECONDS),
          @RateRule(count = 60, time = 3)
        })
    String observed() {
      return "ok";
    }

    @Get("/trial")
    @RateLimiter(
        value = "tried",
        header = "X-Key",
        rules = @RateRule(count = 6, time = 1),
        trial =
            @RateRule(
                count = 2,
                time = 600,
                timeUnit = TimeUnit.MILLISECONDS,
                algorithm = Algorithm.TOKEN_BUCKET))
    String tried() {
      return "ok";
    }

    @Get("/two")
    @RateLimiter(
        value = "two",
        rules = {
          @RateRule(count = 2, header = "X-Key"),
          @RateRule(count = 3, limitType = LimitType.GLOBAL)
        })
    String two() {
      return "ok";
    }

    @Get("/policies")
    @RateLimiter(
        value = "brief",
        header = "X-Key",
        rules = @RateRule(count = 2, time = 300, timeUnit = TimeUnit.MILLISECONDS))
    @RateLimiter(value = "long", header = "X-Key", rules = @RateRule(count = 4, time = 3))
    String policies() {
      return "ok";
    }

    @Get("/keys")
    @RateLimiter(value = "keys", header = "X-Key", rules = @RateRule(count = 9))
    @RateLimiter(
        value = "keys",
        key = "tokens",
        header = "X-Key",
        cost = "5",
        rules = @RateRule(count = 7))
    String keys() {
      return "ok";
    }

    @Get("/anonymous")
    @RateLimiter(
        value = "partners",
        header = "X-Key",
        rules = @RateRule(count = 3),
        anonymousRules = @RateRule(count = 1))
    String anonymous() {
      return "ok";
    }

    @Get("/costly")
    @RateLimiter(value = "costly", cost = "3", header = "X-Key", rules = @RateRule(count = 7))
    String costly() {
      return "ok";
    }
  }

  /** Has the last call that was decided. */
  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class LastCall implements VerdictListener {

    private volatile Optional<ArrivingCall<?>> last = Optional.empty();

    @Override
    public void decided(ArrivingCall<?> call, Verdict verdict) {
      last = Optional.of(call);
    }
  }

  @TempDir private Path directory;
  private Path file;

  @BeforeEach
  void name() {
    file = directory.resolve("calls.csv");
  }

  private TestServer start(Object... more) {
    Map<String, Object> settings = new HashMap<>();
    settings.put("limiter.recorder.file", file.toString());
    settings.put("limiter.policies.observed.observe", true);
    settings.put("micronaut.metrics.enabled", true);
    for (int i = 0; i < more.length; i += 2) {
      settings.put(more[i].toString(), more[i + 1]);
    }
    return TestServer.start(SPEC, settings);
  }

  /** Calls of some subjects at once for as long as a few windows last, at any times. */
  private static void call(TestServer server, String path, int subjects) {
    long begin = System.nanoTime();
    List<CompletableFuture<?>> calls = new ArrayList<>();
    for (int round = 0;
        round < 20 || System.nanoTime() - begin < TimeUnit.SECONDS.toNanos(2);
        round++) {
      for (int subject = 0; subject < subjects; subject++) {
        if (round % (subject + 1) == 0) {
          calls.add(server.getAsync(path, "X-Key", "subject-" + subject));
        }
      }
      CompletableFuture.allOf(calls.toArray(CompletableFuture<?>[]::new)).join();
      calls.clear();
    }
  }

  private static long counted(TestServer server, String meter) {
    return Math.round(
        server.bean(MeterRegistry.class).find(meter).counters().stream()
            .mapToDouble(one -> one.count())
            .sum());
  }

  private static long function(TestServer server, String meter) {
    FunctionCounter counter = server.bean(MeterRegistry.class).find(meter).functionCounter();
    assertThat(counter).as(meter).isNotNull();
    return Math.round(counter.count());
  }

  private List<String> lines() throws IOException {
    List<String> all = Files.readAllLines(file);
    assertThat(all.get(0)).isEqualTo(HEADER);
    return all.subList(1, all.size());
  }

  private Map<String, Long> bySubject(String outcome) throws IOException {
    return bySubject("", outcome);
  }

  private Map<String, Long> bySubject(String policy, String outcome) throws IOException {
    return lines().stream()
        .map(line -> line.split(","))
        .filter(line -> policy.isEmpty() || line[1].equals(policy))
        .filter(line -> outcome.isEmpty() || line[4].equals(outcome))
        .collect(Collectors.groupingBy(line -> line[2], Collectors.counting()));
  }

  /** What the planner denies of this policy, by the subjects of the file. */
  private Map<String, Long> planned(String policy, boolean leaveOutDenied, String... rules)
      throws IOException {
    try (AccessLog log =
        AccessLog.reader()
            .policy(policy)
            .deniedStatuses("none", leaveOutDenied)
            .showSubjects(true)
            .read(file)) {
      assertThat(log.summary().unreadable()).isZero();
      assertThat(log.summary().policy()).hasValue(policy);
      Replay replay = log.replay(Stream.of(rules).map(RuleText::parse).toList());
      assertThat(replay.least()).isEqualTo(replay.most());
      return replay.most().top().stream()
          .collect(Collectors.toMap(Replay.DeniedSubject::name, Replay.DeniedSubject::denied));
    }
  }

  /** Redis' times are recorded, so that not one call differs. */
  @Test
  void anObservedPolicyAndThePlannerDenyTheSameCalls() throws IOException {
    long observed;
    try (TestServer server = start()) {
      call(server, "/recorded/observed", 12);
      observed = counted(server, "limiter.observed");
    }
    Map<String, Long> inService = bySubject("observed");
    assertThat(inService.values().stream().mapToLong(each -> each).sum()).isEqualTo(observed);
    assertThat(inService).isNotEmpty();
    assertThat(bySubject("admitted")).hasSize(12);
    assertThat(planned("observed", false, "2/400ms", "60/3s")).isEqualTo(inService);
  }

  /** What is denied already does not reach the rules on trial. */
  @Test
  void rulesOnTrialAndThePlannerDenyTheSameCalls() throws IOException {
    long tried;
    try (TestServer server = start()) {
      call(server, "/recorded/trial", 6);
      tried = counted(server, "limiter.trial.denied");
    }
    Map<String, Long> inService = bySubject("trial");
    assertThat(inService.values().stream().mapToLong(each -> each).sum()).isEqualTo(tried);
    assertThat(inService).isNotEmpty();
    assertThat(bySubject("denied")).isNotEmpty();
    assertThat(planned("tried", true, "2/600ms:token-bucket")).isEqualTo(inService);
    assertThat(planned("tried", false, "6/1s")).isEqualTo(bySubject("denied"));
  }

  /** The deny cache repeats what a policy denied as long as the other one denies the call. */
  @Test
  void aPolicyDeniesNoCachedCallAfterItsTime() throws IOException {
    try (TestServer server = start()) {
      assertThat(server.status("/recorded/policies", "X-Key", "a")).isEqualTo(200);
      ArrivingCall<?> call = server.bean(LastCall.class).last.orElseThrow();
      List<RuleVerdict> rules =
          Stream.of(Duration.ZERO, Duration.ofSeconds(2))
              .map(wait -> denied(call, wait.isZero() ? "brief" : "long", wait))
              .toList();
      recorder(server)
          .decided(
              call,
              Verdict.of(call.plan().policy(), Outcome.LIMITED)
                  .rules(rules)
                  .decidedBy(DecidedBy.DENY_CACHE)
                  .decidedAtMicros(1_791_640_536_250_123L)
                  .build());
    }
    assertThat(lines().subList(2, 4).stream().map(line -> line.split(",")))
        .map(line -> line[0] + ' ' + line[1] + ' ' + line[4])
        .containsExactly("1791640536250123 brief other", "1791640536250123 long denied");
  }

  private static RuleVerdict denied(ArrivingCall<?> call, String policy, Duration wait) {
    Rule rule =
        call.plan().policies().stream()
            .filter(each -> each.name().equals(policy))
            .findFirst()
            .orElseThrow()
            .charges()
            .get(0)
            .rules()
            .rules()
            .get(0);
    return new RuleVerdict(
        rule, true, 0, 0, Optional.of(wait), wait, rule.window(), false, false, 0);
  }

  private static VerdictListener recorder(TestServer server) {
    return server.context().getBeansOfType(VerdictListener.class).stream()
        .filter(each -> each.getClass().getName().startsWith(RECORDER))
        .findFirst()
        .orElseThrow();
  }

  /** With one secret, another instance and another start record the same subjects. */
  @Test
  void aSampleHasAllCallsOfItsSubjects() throws IOException {
    String secret = "a secret of sixteen characters";
    for (int start = 0; start < 2; start++) {
      try (TestServer server =
          start("limiter.recorder.share", 0.4, "limiter.redis.key-secret", secret)) {
        for (int subject = 1; subject <= 20; subject++) {
          for (int call = 0; call < subject; call++) {
            server.get("/recorded/observed", "X-Key", "sampled-" + subject);
          }
        }
      }
    }
    Map<String, Long> calls = bySubject("");
    assertThat(calls).hasSizeBetween(2, 18);
    assertThat(calls.values()).doesNotHaveDuplicates().allMatch(each -> each % 2 == 0);
    assertThat(Files.readString(file)).doesNotContain("sampled");
  }

  @Test
  void eachSubjectOfAPolicyHasItsName() throws IOException {
    try (TestServer server = start()) {
      assertThat(server.status("/recorded/two", "X-Key", "a")).isEqualTo(200);
      assertThat(server.status("/recorded/two", "X-Key", "a")).isEqualTo(200);
      assertThat(server.status("/recorded/two", "X-Key", "a")).isEqualTo(429);
      assertThat(server.status("/recorded/two", "X-Key", "b")).isEqualTo(200);
      assertThat(server.status("/recorded/two", "X-Key", "c")).isEqualTo(429);
    }
    assertThat(
            lines().stream()
                .map(line -> line.split(","))
                .map(line -> line[1] + ' ' + line[3] + ' ' + line[4]))
        .containsExactly(
            "two:x-key 1 admitted",
            "two:GLOBAL 1 admitted",
            "two:x-key 1 admitted",
            "two:GLOBAL 1 admitted",
            "two:x-key 1 denied",
            "two:GLOBAL 1 other",
            "two:x-key 1 admitted",
            "two:GLOBAL 1 admitted",
            "two:x-key 1 other",
            "two:GLOBAL 1 denied");
    assertThat(planned("two:x-key", false, "2/1m").values()).containsExactly(1L);
    assertThat(planned("two:GLOBAL", false, "3/1m").values()).containsExactly(1L);
  }

  @Test
  void eachKeyOfAPolicyHasItsName() throws IOException {
    try (TestServer server = start()) {
      assertThat(server.status("/recorded/keys", "X-Key", "a")).isEqualTo(200);
      assertThat(server.status("/recorded/keys", "X-Key", "a")).isEqualTo(429);
    }
    assertThat(
            lines().stream()
                .map(line -> line.split(","))
                .map(line -> line[1] + ' ' + line[3] + ' ' + line[4]))
        .containsExactly(
            "keys 1 admitted", "keys:tokens 5 admitted", "keys 1 other", "keys:tokens 5 denied");
    assertThat(planned("keys:tokens", false, "7/1m").values()).containsExactly(1L);
  }

  /** They have rules of their own. */
  @Test
  void callersWithoutTheSubjectHaveTheirName() throws IOException {
    try (TestServer server = start()) {
      for (int call = 0; call < 4; call++) {
        server.get("/recorded/anonymous", "X-Key", "a");
        server.get("/recorded/anonymous");
      }
    }
    assertThat(bySubject("partners", "denied").values()).containsExactly(1L);
    assertThat(planned("partners", false, "3/1m")).isEqualTo(bySubject("partners", "denied"));
    assertThat(bySubject("partners:anonymous", "denied").values()).containsExactly(3L);
    assertThat(planned("partners:anonymous", false, "1/1m"))
        .isEqualTo(bySubject("partners:anonymous", "denied"));
  }

  @Test
  void whatACallCostsIsRecorded() throws IOException {
    try (TestServer server = start()) {
      for (int call = 0; call < 4; call++) {
        server.get("/recorded/costly", "X-Key", "a");
      }
      assertThat(function(server, "limiter.recorder.dropped")).isZero();
      await()
          .atMost(PATIENCE)
          .untilAsserted(() -> assertThat(function(server, "limiter.recorder.lines")).isEqualTo(4));
    }
    assertThat(lines())
        .allMatch(line -> line.matches("\\d{16},costly,[\\w-]{22},3,(admitted|denied)"));
    assertThat(planned("costly", false, "7/1m").values()).containsExactly(2L);
  }

  /** As on a disk that is full, or no longer there. */
  @Test
  void aServiceGoesOnWithoutItsFile() throws IOException {
    Path elsewhere = directory.resolveSibling(directory.getFileName() + "-moved");
    try (RecordedLog log = RecordedLog.of(RECORDER);
        TestServer server = start()) {
      assertThat(server.status("/recorded/costly", "X-Key", "a")).isEqualTo(200);
      await()
          .atMost(PATIENCE)
          .untilAsserted(() -> assertThat(function(server, "limiter.recorder.lines")).isEqualTo(1));
      Files.move(directory, elsewhere);
      try {
        assertThat(server.status("/recorded/costly", "X-Key", "b")).isEqualTo(200);
        await()
            .atMost(PATIENCE)
            .untilAsserted(
                () -> assertThat(function(server, "limiter.recorder.dropped")).isEqualTo(1));
      } finally {
        Files.move(elsewhere, directory);
      }
      assertThat(server.status("/recorded/costly", "X-Key", "c")).isEqualTo(200);
      await()
          .atMost(PATIENCE)
          .untilAsserted(() -> assertThat(function(server, "limiter.recorder.lines")).isEqualTo(2));
      assertThat(log.messages())
          .singleElement()
          .asString()
          .startsWith("limiter.recorder.file = " + file + " cannot be written")
          .contains("NoSuchFileException", "limiter.recorder.max-size");
    }
    assertThat(lines()).hasSize(2);
  }

  /** A verdict whose rules are not there yet holds the recorder, and no call waits for it. */
  @Test
  void callsThatAreTooManyAreDroppedAndCounted() throws Exception {
    int calls = 20_000;
    int bound = 16_384;
    CountDownLatch end = new CountDownLatch(1);
    try (RecordedLog log = RecordedLog.of(RECORDER);
        TestServer server = start()) {
      server.get("/recorded/costly", "X-Key", "a");
      await() // it must not be in the queue any more
          .atMost(PATIENCE)
          .untilAsserted(() -> assertThat(function(server, "limiter.recorder.lines")).isEqualTo(1));
      ArrivingCall<?> call = server.bean(LastCall.class).last.orElseThrow();
      Policy policy = call.plan().policy();
      VerdictListener recorder = recorder(server);
      Verdict held =
          Verdict.of(policy, Outcome.LIMITED)
              .build()
              .withRules(new HeldRules(end), io.limiter.core.Reservation.NOTHING);
      for (int each = 0; each < calls; each++) {
        recorder.decided(call, held);
      }
      long dropped = function(server, "limiter.recorder.dropped");
      // The recorder may have taken one, which it holds, before the queue was full.
      assertThat(dropped).isBetween(calls - bound - 1L, (long) calls - bound);
      assertThat(log.messages())
          .singleElement()
          .asString()
          .startsWith("Calls are not recorded in " + file)
          .contains("limiter.recorder.share");
      end.countDown();
      await()
          .atMost(PATIENCE)
          .untilAsserted(
              () ->
                  assertThat(function(server, "limiter.recorder.lines"))
                      .isEqualTo(1 + calls - dropped));
    } finally {
      end.countDown();
    }
  }

  private record HeldRules(CountDownLatch end) implements Verdict.LazyRules {

    @Override
    public List<RuleVerdict> rules() {
      try {
        assertThat(end.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
      } catch (InterruptedException interrupted) {
        Thread.currentThread().interrupt();
      }
      return List.of();
    }

    @Override
    public Optional<RuleVerdict> duplicate() {
      return Optional.empty();
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "missing/calls.csv | NoSuchFileException",
        "other.txt | it has other content than recorded calls",
        "'' | it has other content than recorded calls"
      })
  void aFileThatCannotBeWrittenStopsTheStart(String name, String why) throws IOException {
    Files.writeString(directory.resolve("other.txt"), "something else");
    Path wrong = directory.resolve(name);
    assertThat(Starts.mistake(Map.of("limiter.recorder.file", wrong.toString())))
        .hasMessageStartingWith("limiter.recorder.file = " + wrong + ": the file cannot be written")
        .hasMessageContaining(why)
        .hasMessageEndingWith("in a directory that exists and can be written");
  }

  @Test
  void anInstanceWaitsForTheFileOfTheOneThatItReplaces() throws Exception {
    try (RecordedLog log = RecordedLog.of(RECORDER);
        TestServer next = startBehindAnother(log)) {
      assertThat(next.status("/recorded/costly", "X-Key", "c")).isEqualTo(200);
      await()
          .atMost(PATIENCE)
          .untilAsserted(() -> assertThat(function(next, "limiter.recorder.lines")).isEqualTo(1));
    }
    assertThat(lines()).hasSize(2);
  }

  /** The first one stops when the second one has started. */
  private TestServer startBehindAnother(RecordedLog log) {
    try (TestServer first = start()) {
      assertThat(first.status("/recorded/costly", "X-Key", "a")).isEqualTo(200);
      TestServer next = start();
      assertThat(log.messages()).anyMatch(text -> text.contains("another instance writes to it"));
      assertThat(next.status("/recorded/costly", "X-Key", "b")).isEqualTo(200);
      await()
          .atMost(PATIENCE)
          .untilAsserted(() -> assertThat(function(next, "limiter.recorder.dropped")).isEqualTo(1));
      return next;
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "share | 0 | limiter.recorder.share = 0.0: set it to more than 0 and 1 at most",
        "share | 1.1 | limiter.recorder.share = 1.1: set it to more than 0 and 1 at most",
        "max-size | 1000 | limiter.recorder.max-size = 1000: set it to 1MB to 1024GB",
        "files | 0 | limiter.recorder.files = 0: set it to 1 to 1000"
      })
  void aMistakeStopsTheStart(String setting, String value, String message) {
    assertThat(
            Starts.mistake(
                Map.of(
                    "limiter.recorder.file",
                    file.toString(),
                    "limiter.recorder." + setting,
                    value)))
        .hasMessage(message);
  }
}
