// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.micronaut.testing.StatedCallers;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;

/** A caller of {@link InFlightRoutes}, whose calls run until a test ends them. */
record InFlightCaller(String name, TestServer server, RunningCalls calls) {

  private static final Duration PATIENCE = Duration.ofSeconds(20);

  /** Calls until a call runs. */
  CompletableFuture<HttpResponse<String>> awaitPlace(String route) {
    int running = calls.count();
    AtomicReference<CompletableFuture<HttpResponse<String>>> last = new AtomicReference<>();
    await()
        .atMost(PATIENCE)
        .until(
            () -> {
              CompletableFuture<HttpResponse<String>> answer = call(route);
              last.set(answer);
              await().atMost(PATIENCE).until(() -> answer.isDone() || calls.count() > running);
              return calls.count() > running;
            });
    return last.get();
  }

  /** Calls until so many more run. */
  List<CompletableFuture<HttpResponse<String>>> begin(String route, int more) {
    int before = calls.count();
    List<CompletableFuture<HttpResponse<String>>> begun =
        IntStream.range(0, more).mapToObj(i -> call(route)).toList();
    await()
        .atMost(PATIENCE)
        .until(
            () ->
                calls.count() == before + more
                    || begun.stream().anyMatch(CompletableFuture::isDone));
    assertThat(begun).as("%s is denied", route).noneMatch(CompletableFuture::isDone);
    return begun;
  }

  CompletableFuture<HttpResponse<String>> call(String route) {
    return route.endsWith("body")
        ? post(route, "{\"a\":1}")
        : server.getAsync(path(route), StatedCallers.ADDRESS, name);
  }

  CompletableFuture<HttpResponse<String>> post(String json) {
    return post("body", json);
  }

  private CompletableFuture<HttpResponse<String>> post(String route, String json) {
    return server.exchangeAsync(
        "POST", path(route), json, "Content-Type", "application/json", StatedCallers.ADDRESS, name);
  }

  private String path(String route) {
    return "/in-flight/" + (route.endsWith("=") ? route + name : route);
  }

  /** Calls, and goes away with RST once the call runs, as when a machine is switched off. */
  void leave(String route) throws IOException {
    int before = calls.count();
    try (Socket client = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
      client
          .getOutputStream()
          .write(
              "GET %s HTTP/1.1\r\nHost: localhost\r\n%s: %s\r\n\r\n"
                  .formatted(path(route), StatedCallers.ADDRESS, name)
                  .getBytes(StandardCharsets.US_ASCII));
      await().atMost(PATIENCE).until(() -> calls.count() == before + 1);
      client.setSoLinger(true, 0);
    }
  }
}
