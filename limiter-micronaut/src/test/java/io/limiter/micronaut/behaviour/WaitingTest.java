// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls that come early wait for their turn, whatever kind they are of. */
@Tag("matrix")
class WaitingTest extends WaitingCaller {

  private static final long INTERVAL = 250;

  /** What calls may have to wait for one of two cores that others use too. */
  private static final long NOISE = 750;

  @ParameterizedTest
  @ValueSource(
      strings = {
        "sync",
        "stage",
        "mono",
        "flux",
        "body",
        "argument?who=",
        "waits-in-a-thread?who=",
        "bean/stage",
        "bean/mono",
        "bean/flux"
      })
  void oneBeginsAtOnceThreeWaitAndTheRestIsDenied(String route) {
    if (!route.startsWith("bean")) { // which limits all callers together
      callOf(route, "another").join(); // the first is slower than the turns are apart
      departures.clear();
    }
    long sent = System.nanoTime();
    List<CompletableFuture<HttpResponse<String>>> calls =
        IntStream.range(0, 6).mapToObj(i -> call(route)).toList();

    List<HttpResponse<String>> answers = calls.stream().map(CompletableFuture::join).toList();
    assertThat(answers).extracting(HttpResponse::statusCode).containsOnly(200, 429);
    List<HttpResponse<String>> denied =
        answers.stream().filter(answer -> answer.statusCode() == 429).toList();
    assertThat(denied).hasSize(2);
    if (!route.startsWith("bean")) {
      assertThat(denied).allSatisfy(r -> assertThat(field(r, "Retry-After")).isEqualTo("1"));
    }
    // Since the first was sent, and not since it began: that may be late, the turns do not follow
    // it.
    List<Duration> begun = departures.since(sent);
    assertThat(begun).hasSize(4);
    for (int i = 0; i < 4; i++) {
      assertThat(begun.get(i).toMillis()).isBetween(i * INTERVAL, i * INTERVAL + NOISE);
    }
  }

  @Test
  void aWaitingCallHoldsNoThread() {
    call("mono").join(); // whatever is started with the first
    await().during(Duration.ofMillis(2 * INTERVAL)).until(() -> true);
    long before = threads();
    List<CompletableFuture<HttpResponse<String>>> calls =
        IntStream.range(0, 200).mapToObj(i -> callOf("stage", "caller-of-many-" + i % 50)).toList();

    await().atMost(PATIENCE).until(() -> departures.count() > 50);
    long during = threads();
    assertThat(calls).allSatisfy(answer -> assertThat(answer.join().statusCode()).isEqualTo(200));
    assertThat(during).isLessThanOrEqualTo(before + 2);
  }

  /** All but those of the client. */
  private static long threads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> !thread.getName().startsWith("HttpClient"))
        .count();
  }
}
