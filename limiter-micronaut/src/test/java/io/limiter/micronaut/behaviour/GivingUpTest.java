// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.limiter.micronaut.testing.StatedCallers;
import java.io.IOException;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.Disposable;

/** A call whose client disconnects while it waits frees its place, and is not made. */
@Tag("matrix")
class GivingUpTest extends WaitingCaller {

  @ParameterizedTest
  @ValueSource(strings = {"slow", "slow-argument?who="})
  void anAbandonedCallFreesItsPlaceAndIsNotMade(String route) throws Exception {
    assertThat(call(route).join().statusCode()).isEqualTo(200);
    for (int i = 0; i < 5; i++) {
      leaveWhileWaiting(route);
    }

    assertThat(departures.count()).isEqualTo(1);
  }

  /** It has come: that is what the other rule counts. */
  @Test
  void anAbandonedCallCountsForOtherRules() throws Exception {
    assertThat(call("stacked").join().statusCode()).isEqualTo(200);
    leaveWhileWaiting("stacked");
    leaveWhileWaiting("stacked");

    HttpResponse<String> denied = call("stacked").join();
    assertThat(denied.statusCode()).isEqualTo(429);
    assertThat(Long.parseLong(field(denied, "Retry-After"))).isGreaterThan(3_000);
  }

  @Test
  void aCancelledSubscriptionFreesItsPlace() {
    assertThat(service.slowMono().block(PATIENCE)).isEqualTo("departed");
    for (int i = 0; i < 5; i++) {
      Disposable waiting = service.slowMono().subscribe();
      awaitFull();
      waiting.dispose();
      awaitRoom();
    }

    assertThat(departures.count()).isEqualTo(1);
  }

  @Test
  void aCancelledStageFreesItsPlace() {
    assertThat(service.slowStage().toCompletableFuture().join()).isEqualTo("departed");
    for (int i = 0; i < 5; i++) {
      CompletableFuture<String> waiting = service.slowStage().toCompletableFuture();
      awaitFull();
      waiting.cancel(false);
      awaitRoom();
    }

    assertThat(departures.count()).isEqualTo(1);
  }

  @Test
  void aThreadThatIsInterruptedFreesItsPlace() throws Exception {
    assertThat(service.slowSync()).isEqualTo("departed");
    Thread waiting = new Thread(() -> assertThatThrownBy(service::slowSync).isNotNull());
    waiting.start();
    awaitFull();
    waiting.interrupt();
    waiting.join(PATIENCE.toMillis());
    awaitRoom();

    assertThat(departures.count()).isEqualTo(1);
  }

  private void awaitFull() {
    await().atMost(PATIENCE).until(() -> !hasRoom());
  }

  private void awaitRoom() {
    await().atMost(PATIENCE).until(this::hasRoom);
  }

  private boolean hasRoom() {
    return limiter().peek(slow()).toCompletableFuture().join().allowed();
  }

  /** Waits until the queue is full, goes away with RST, and waits until it has room. */
  private void leaveWhileWaiting(String route) throws IOException {
    int before = server.keys().all().hashCode();
    try (Socket client = server.open(path(route, caller), StatedCallers.ADDRESS, caller)) {
      await().atMost(PATIENCE).until(() -> server.keys().all().hashCode() != before);
      int waiting = server.keys().all().hashCode();
      client.setSoLinger(true, 0);
      client.close();
      await().atMost(PATIENCE).until(() -> server.keys().all().hashCode() != waiting);
    }
  }

  /** As messages that are sent independently of the request. */
  @Test
  void callsThatAnAnsweredRequestLeavesBehindAreNotGivenUp() throws IOException {
    try (Socket client = server.open("/waiting/left-behind")) {
      assertThat(client.getInputStream().read()).isEqualTo('H');
      client.setSoLinger(true, 0);
    }

    await().atMost(PATIENCE).until(() -> departures.count() == 3);
  }

  @Test
  void anAbandonedSubmissionMayBeMadeAgain() throws Exception {
    assertThat(call("submission?by=first").join().statusCode()).isEqualTo(200);
    leaveWhileWaiting("submission?by=second");

    CompletableFuture<HttpResponse<String>> again = call("submission?by=second");
    await().during(Duration.ofMillis(300)).atMost(PATIENCE).until(() -> !again.isDone());
    again.cancel(true);
  }
}
