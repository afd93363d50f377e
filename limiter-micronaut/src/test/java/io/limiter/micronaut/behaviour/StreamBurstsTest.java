// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.HttpService;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ServerFilter;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Many streams of one HTTP/2 connection come at once, as in a single packet. */
class StreamBurstsTest {

  private static final String SPEC = "StreamBurstsTest";
  private static final int STREAMS = 90;

  @Controller("/streams")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    final AtomicInteger entered = new AtomicInteger();

    @Get("/free")
    String free() {
      return "free";
    }

    @Get("/limited")
    @RateRule(count = 7, time = 60)
    String limited() {
      entered.incrementAndGet();
      return "in";
    }
  }

  @ServerFilter("/streams/limited")
  @Requires(property = "spec.name", value = SPEC)
  static class Connections {

    final Set<Integer> ports = ConcurrentHashMap.newKeySet();

    @RequestFilter
    void note(HttpRequest<?> request) {
      ports.add(request.getRemoteAddress().getPort());
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void exactlyTheCountIsAdmitted(boolean gate) throws Exception {
    try (TestServer server =
        TestServer.start(
            SPEC, Map.of("limiter.gate.enabled", gate, "micronaut.server.http-version", "2.0"))) {
      HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_2).build();
      HttpResponse<String> upgraded = // one connection from here on
          client.send(get(server, "/streams/free"), BodyHandlers.ofString());
      assertThat(upgraded.version()).isEqualTo(HttpClient.Version.HTTP_2);

      List<HttpResponse<String>> answers =
          IntStream.range(0, STREAMS)
              .mapToObj(
                  any -> client.sendAsync(get(server, "/streams/limited"), BodyHandlers.ofString()))
              .toList()
              .stream()
              .map(CompletableFuture::join)
              .toList();

      assertThat(server.bean(Connections.class).ports).hasSize(1);
      assertThat(answers).allMatch(answer -> answer.version() == HttpClient.Version.HTTP_2);
      assertThat(answers).filteredOn(answer -> answer.statusCode() == 200).hasSize(7);
      assertThat(answers).filteredOn(answer -> answer.statusCode() == 429).hasSize(STREAMS - 7);
      assertThat(server.bean(Routes.class).entered).hasValue(7);
    }
  }

  private static java.net.http.HttpRequest get(TestServer server, String path) {
    return java.net.http.HttpRequest.newBuilder(
            URI.create("http://localhost:" + server.port() + HttpService.path(path)))
        .timeout(Duration.ofSeconds(20))
        .build();
  }
}
