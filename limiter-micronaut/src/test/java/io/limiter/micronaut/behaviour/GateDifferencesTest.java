// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.behaviour.GateDifferenceRoutes.ANSWER_EARLY;
import static io.limiter.micronaut.behaviour.GateDifferenceRoutes.LATE_USER;
import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpResponse;
import java.util.Map;
import java.util.function.Consumer;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * All in which a service with the gate differs from one without: the gate decides before arguments
 * are bound and before the filters behind it, on the event loop. What is the same is tested by the
 * contracts beside this.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class GateDifferencesTest {

  private static final String BROKEN = "{\"item\":";
  private static final String WHOLE = "{\"item\":\"a\"}";

  @AutoClose private final TestServer with = start(true);
  @AutoClose private final TestServer without = start(false);

  private static TestServer start(boolean gate) {
    return TestServer.start(
        GateDifferenceRoutes.SPEC,
        Map.of("limiter.gate.enabled", gate, "micronaut.server.max-request-size", 1_000));
  }

  @BeforeEach
  void forget() {
    with.clear();
    without.clear();
    both(GateDifferencesTest::passed);
  }

  static void call(TestServer server, String cause) {
    int status =
        switch (cause) {
          case "broken body" -> server.post("/doors/body", BROKEN).statusCode();
          case "no argument" -> server.get("/doors/number").statusCode();
          case "wrong argument" -> server.get("/doors/number?n=many").statusCode();
          case "too big body" -> server.post("/doors/body", '"' + "x".repeat(2_000)).statusCode();
          case "filter" -> server.get("/doors/sync", ANSWER_EARLY, "yes").statusCode();
          default -> throw new IllegalArgumentException(cause);
        };
    assertThat(status).as(cause).isIn(400, 401, 413);
  }

  @ParameterizedTest
  @ValueSource(strings = {"broken body", "no argument", "wrong argument", "too big body", "filter"})
  void aCallThatDoesNotReachItsMethodIsCountedOnlyByTheGate(String cause) {
    call(with, cause);
    call(without, cause);

    assertThat(with.keys().all()).hasSize(1);
    assertThat(without.keys().all()).isEmpty();
  }

  @Test
  void aCallWithABrokenBodyHasHeaderFieldsOnlyWithTheGate() {
    assertThat(with.post("/doors/body", BROKEN).headers().firstValue("RateLimit")).isPresent();
    assertThat(without.post("/doors/body", BROKEN).headers().firstValue("RateLimit")).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({"{\"item\":, 400", "TOO BIG, 413"})
  void theLimitIsReportedFirstOnlyWithTheGate(String body, int otherwise) {
    String sent = body.equals("TOO BIG") ? '"' + "x".repeat(2_000) : body;
    both(server -> server.post("/doors/body", WHOLE));
    both(server -> server.post("/doors/body", WHOLE));

    assertThat(with.post("/doors/body", sent).statusCode()).isEqualTo(429);
    assertThat(without.post("/doors/body", sent).statusCode()).isEqualTo(otherwise);
  }

  /** No difference: nothing was submitted. */
  @ParameterizedTest
  @ValueSource(strings = {"kept", "kept-by-list", "released"})
  void aSubmissionThatCouldNotBeBoundIsKeptByNeither(String route) {
    both(server -> assertThat(server.post("/doors/" + route, BROKEN).statusCode()).isEqualTo(400));

    both(server -> assertThat(server.post("/doors/" + route, WHOLE).statusCode()).isEqualTo(200));
    both(server -> assertThat(server.post("/doors/" + route, WHOLE).statusCode()).isEqualTo(409));
  }

  /** No difference. */
  @Test
  void aRouteIsCountedOnceThoughAFilterRunsBeforeItIsKnown() {
    both(
        server -> {
          assertThat(server.get("/doors/unknown").statusCode()).isEqualTo(404);
          assertThat(server.exchange("DELETE", "/doors/sync", "").statusCode()).isEqualTo(405);
          assertThat(server.keys().all()).isEmpty();
          for (int status : new int[] {200, 200, 429}) {
            assertThat(server.get("/doors/sync").statusCode()).isEqualTo(status);
          }
        });
  }

  @Test
  void aSubmissionThatALaterFilterAnswersMayBeMade() {
    both(
        server -> {
          assertThat(submit(server, ANSWER_EARLY, "yes")).isEqualTo(401);
          assertThat(submit(server, "X-Other", "yes")).isEqualTo(200);
          assertThat(submit(server, "X-Other", "yes")).isEqualTo(409);
        });
  }

  private static int submit(TestServer server, String header, String value) {
    return server.post("/doors/released", WHOLE, header, value).statusCode();
  }

  @Test
  void filtersBehindTheGateSeeDeniedCallsOnlyWithoutIt() {
    for (int call = 0; call < 5; call++) {
      both(server -> server.get("/doors/sync"));
    }

    assertThat(passed(with)).isEqualTo(2);
    assertThat(passed(without)).isEqualTo(5);
  }

  private static int passed(TestServer server) {
    return server.context().getBean(GateDifferenceRoutes.Late.class).passed.getAndSet(0);
  }

  @Test
  void aUserOfAFilterAfterTheGateIsAnonymousToIt() {
    for (String user : new String[] {"ada", "bob"}) {
      both(server -> server.get("/doors/user", LATE_USER, user));
    }

    assertThat(with.keys().all()).as("the address of both").hasSize(1);
    assertThat(without.keys().all()).as("ada, bob").hasSize(2);
  }

  @ParameterizedTest
  @CsvSource({
    "sync, event loop, other",
    "flux, event loop, other",
    "stage, event loop, event loop",
    "mono, event loop, event loop"
  })
  void methodsThatWouldHaveToWaitLeaveTheEventLoopOnlyWithoutTheGate(
      String route, String withGate, String withoutGate) {
    assertThat(with.get("/doors/" + route).body()).contains(withGate);
    assertThat(without.get("/doors/" + route).body()).contains(withoutGate);
  }

  @Test
  void aResolverIsAskedOnTheThreadOfTheMethodOnlyWithoutTheGate() {
    both(server -> assertThat(server.get("/doors/resolver").statusCode()).isEqualTo(200));

    assertThat(with.context().getBean(GateDifferenceRoutes.Asked.class).onEventLoop).isTrue();
    assertThat(without.context().getBean(GateDifferenceRoutes.Asked.class).onEventLoop).isFalse();
  }

  @Test
  void anErrorRouteOfTheControllerAnswersBoth() {
    both(server -> server.get("/doors/own"));

    both(
        server -> {
          HttpResponse<String> denied = server.get("/doors/own");
          assertThat(denied.statusCode()).isEqualTo(418);
          assertThat(denied.body()).isEqualTo("later");
          assertThat(denied.headers().firstValue("Retry-After")).isPresent();
        });
  }

  private void both(Consumer<TestServer> calls) {
    calls.accept(with);
    calls.accept(without);
  }
}
