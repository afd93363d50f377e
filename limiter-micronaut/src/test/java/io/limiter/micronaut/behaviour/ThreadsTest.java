// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static io.limiter.micronaut.testing.HttpService.path;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.limiter.micronaut.behaviour.ThreadRoutes.Helper;
import java.net.http.HttpResponse;
import java.util.Map;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Where calls go on once a store has answered that takes its time and has threads of its own. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ThreadsTest {

  private static final String LOOP = "default-\\w*[eE]ventLoopGroup-[-\\d]+";
  private static final String MULTIPART =
      """
      --b\r
      Content-Disposition: form-data; name="file"; filename="a.txt"\r
      \r
      hello\r
      --b--\r
      """;

  @AutoClose
  private final TestServer server =
      TestServer.start(
          ThreadRoutes.SPEC,
          Map.of("test.slow-store", true, "micronaut.netty.event-loops.default.num-threads", 4));

  private final SlowStore store = server.bean(SlowStore.class);

  /**
   * What a route reports about itself.
   *
   * @param thread where it runs
   * @param loop the event loop that reads its request
   * @param request the path of the request it finds
   */
  private record Where(String thread, String loop, String request) {
    static Where of(HttpResponse<String> answer) {
      assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
      String[] parts = answer.body().replaceAll("[\\[\\]\"]", "").split("\\|");
      return new Where(parts[0], parts[1], parts[2]);
    }
  }

  @BeforeEach
  void forget() {
    server.clear();
  }

  @ParameterizedTest
  @ValueSource(strings = {"sync", "stage", "mono", "deferred", "flux"})
  void aRouteThatTheGateDecidesGoesOnOnItsOwnEventLoop(String route) {
    Where where = Where.of(server.get("/threads/" + route));

    assertThat(where.thread()).matches(LOOP).isEqualTo(where.loop());
    assertThat(where.request()).isEqualTo(path("/threads/" + route));
  }

  @RepeatedTest(8)
  void eachConnectionKeepsItsOwnLoop() {
    Where where = Where.of(server.onNewConnection().get("/threads/sync"));

    assertThat(where.thread()).matches(LOOP).isEqualTo(where.loop());
  }

  @ParameterizedTest
  @ValueSource(strings = {"stage", "mono", "deferred"})
  void anAsynchronousRouteThatTheGuardDecidesGoesOnOnItsOwnEventLoop(String route) {
    Where where = Where.of(server.get("/threads/by-argument/" + route + "?who=a"));

    assertThat(where.thread()).matches(LOOP).isEqualTo(where.loop());
    assertThat(where.request()).isEqualTo(path("/threads/by-argument/" + route));
  }

  @ParameterizedTest
  @ValueSource(strings = {"sync", "flux"})
  void aRouteThatHasToWaitRunsWhereItMay(String route) {
    Where where = Where.of(server.get("/threads/by-argument/" + route + "?who=a"));

    assertThat(where.loop()).matches(LOOP);
    // The executor for blocking tasks: threads of the io pool, or virtual ones where the JDK has
    // them.
    assertThat(where.thread()).matches("(io-executor-thread-|virtual-executor-).*");
    assertThat(where.request()).isEqualTo(path("/threads/by-argument/" + route));
  }

  /** Not in the executor that it came from, whose threads may all wait for such calls. */
  @Test
  void anAsynchronousRouteOffTheEventLoopGoesOnOnAThreadOfTheLimiters() {
    Where where = Where.of(server.get("/threads/by-argument/stage-elsewhere?who=a"));

    assertThat(where.thread()).startsWith("limiter-call-");
    assertThat(where.request()).isEqualTo(path("/threads/by-argument/stage-elsewhere"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"own-pool", "by-argument/own-pool?who=a"})
  void theExecutorOfTheApplicationIsRespected(String route) {
    Where where = Where.of(server.get("/threads/" + route));

    assertThat(where.thread()).isEqualTo(ThreadRoutes.OWN_POOL);
    assertThat(where.request()).startsWith(path("/threads/")).endsWith("own-pool");
  }

  @Test
  void aJsonBodyStillBinds() {
    HttpResponse<String> answer = server.post("/threads/body", "{\"item\":\"paper\"}");

    assertThat(Where.of(answer).thread()).isEqualTo(Where.of(answer).loop());
    assertThat(answer.body()).endsWith("|paper");
  }

  @Test
  void aMultipartBodyStillBinds() {
    HttpResponse<String> answer =
        server.exchange(
            "POST",
            "/threads/upload",
            MULTIPART,
            "Content-Type",
            "multipart/form-data; boundary=b");

    assertThat(Where.of(answer).request()).isEqualTo(path("/threads/upload"));
    assertThat(answer.body()).endsWith("|a.txt:hello");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "sync",
        "stage",
        "mono",
        "flux",
        "own-pool",
        "by-argument/sync?who=a",
        "by-argument/stage?who=a",
        "by-argument/mono?who=a",
        "by-argument/flux?who=a"
      })
  void aLateFailureOfTheStoreReachesTheApplicationsHandler(String route) {
    store.failNext(new ArithmeticException("store"));

    HttpResponse<String> answer = server.get("/threads/" + route);

    assertThat(answer.statusCode()).isEqualTo(500);
    assertThat(answer.body()).isEqualTo("handled: store");
    assertThat(answer.headers().map()).doesNotContainKeys("ratelimit");
    assertThat(server.keys().all()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"sync", "stage", "mono", "flux", "by-argument/sync?who=a"})
  void aLateUnhandledFailureAdmitsNoCall(String route) {
    store.failNext(new StoreException(FailureReason.ERROR, "away", null));

    assertThat(server.get("/threads/" + route).statusCode()).isEqualTo(500);
  }

  @Test
  void aLimitedBeanOnAnEventLoopFailsWithTheRemedyWhichIsLoggedOnce() {
    try (LoggedWarnings warnings = LoggedWarnings.begin()) {
      for (int call = 0; call < 2; call++) {
        assertThat(server.get("/threads/nested").statusCode()).isEqualTo(500);
      }
      assertThat(warnings.unhandled())
          .hasSize(2)
          .allSatisfy(
              line ->
                  assertThat(line)
                      .contains("ThreadRoutes")
                      .contains("help()")
                      .containsPattern("was called on the event loop " + LOOP)
                      .contains(
                          "@ExecuteOn(TaskExecutors.BLOCKING) on the controller that calls it, or let it return a CompletionStage or a Publisher"));
      assertThat(warnings.excess())
          .filteredOn(line -> line.contains("io.limiter.micronaut.thread.CallerThreads"))
          .singleElement(InstanceOfAssertFactories.STRING)
          .contains("ThreadRoutes")
          .contains("on the controller that calls it")
          .contains("Each such call fails; this is logged once");
    }
  }

  @Test
  void aLimitedBeanOnAThreadThatMayBlockWaits() {
    HttpResponse<String> answer = server.get("/threads/nested/may-wait");

    assertThat(answer.body()).isEqualTo("helped");
    assertThat(field(answer, "RateLimit")).as("the route's own limit").contains(";r=99;");
  }

  @Test
  void aLimitedBeanOutsideOfARequestWaits() {
    assertThat(server.bean(Helper.class).help()).isEqualTo("helped");
    store.failNext(new ArithmeticException("store"));
    assertThatThrownBy(server.bean(Helper.class)::help).isInstanceOf(ArithmeticException.class);
  }
}
