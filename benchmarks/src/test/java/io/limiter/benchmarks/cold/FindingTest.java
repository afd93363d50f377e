// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.cold;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import io.limiter.benchmarks.cold.CallOutcomes.Answer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpRequest;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class FindingTest {

  private static final Answer ADMITTED = new Answer(200, "STORE", 2_000_000);
  private static final Answer DENIED = new Answer(429, "DENY_CACHE", 1_000_000);
  private static final Answer BY_MEMORY = new Answer(200, "FALLBACK (TIMEOUT)", 100_000_000);

  private static Finding of(Answer... answers) {
    CallOutcomes all = new CallOutcomes(List.of(answers));
    return new Finding("some", all, all.withStatus(200), 1, Set.of("STORE", "DENY_CACHE"), 0.5);
  }

  @Test
  void redisDecidesAllThatItRemembersToo() {
    Finding found = of(ADMITTED, DENIED, DENIED);

    assertThat(found.exact()).isTrue();
    assertThat(found.admittedText()).isEqualTo("1");
    assertThat(found.answers().decided()).isEqualTo("DENY_CACHE 2, STORE 1");
    assertThat(found.answers().slowestMillis()).isEqualTo(2);
  }

  @Test
  void oneDecisionOfTheFallbackIsTooMany() {
    Finding found = of(BY_MEMORY, DENIED);

    assertThat(found.admitted()).isEqualTo(found.expected());
    assertThat(found.exact()).isFalse();
  }

  @Test
  void moreThanMayBeAdmittedIsShown() {
    Finding found = of(ADMITTED, ADMITTED);

    assertThat(found.exact()).isFalse();
    assertThat(found.admittedText()).isEqualTo("2, not 1");
  }

  @Test
  void allCallsAreMadeAndTheirAnswersKept() throws Exception {
    AtomicInteger called = new AtomicInteger();
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          boolean admitted = called.incrementAndGet() <= 3;
          exchange.getResponseHeaders().add("X-Decided-By", "STORE");
          exchange.sendResponseHeaders(admitted ? 200 : 429, -1);
          exchange.close();
        });
    server.start();
    try {
      CallOutcomes answers = CallOutcomes.to(Collections.nCopies(20, request(server)), 8);

      assertThat(answers.all()).hasSize(20);
      assertThat(answers.withStatus(200)).isEqualTo(3);
      assertThat(answers.decided()).isEqualTo("STORE 20");
    } finally {
      server.stop(0);
    }
    assertThat(CallOutcomes.to(List.of(request(server)), 1).decided()).startsWith("no answer: ");
  }

  private static HttpRequest request(HttpServer server) {
    return HttpRequest.newBuilder(
            URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/"))
        .build();
  }
}
