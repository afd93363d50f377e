// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.micronaut.annotation.ConcurrencyLimit;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.MediaType;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.client.ProxyHttpClient;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** A gateway, whose response is that of another server. */
class ForwardedResponsesTest {

  private static final String SPEC = "ForwardedResponsesTest";
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  private static volatile CompletableFuture<Void> there = new CompletableFuture<>();
  private static volatile CompletableFuture<Void> go = new CompletableFuture<>();

  @Controller("/forwarded")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    private final ProxyHttpClient servers;

    Routes(ProxyHttpClient servers) {
      this.servers = servers;
    }

    @Get("/slow")
    @ConcurrencyLimit(1)
    Publisher<MutableHttpResponse<?>> slow(HttpRequest<?> request) {
      return servers.proxy(
          request
              .mutate()
              .uri(
                  uri ->
                      uri.scheme("http")
                          .host("localhost")
                          .port(request.getServerAddress().getPort())
                          .replacePath(request.getPath().replace("/slow", "/server"))));
    }

    @Get(value = "/server", produces = MediaType.TEXT_PLAIN)
    Flux<String> server() {
      return Flux.just("x")
          .concatWith(
              Mono.fromFuture(
                      () -> {
                        there.complete(null);
                        return go;
                      })
                  .thenMany(Flux.just("y")));
    }
  }

  @Test
  void aPermitIsHeldUntilTheLastByteIsSent() throws Exception {
    try (TestServer server = TestServer.start(SPEC)) {
      server.bean(Routes.class); // Micronaut's client reads certificates as it is made
      CompletableFuture<HttpResponse<String>> first = server.getAsync("/forwarded/slow");
      there.get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);

      assertThat(server.status("/forwarded/slow")).isEqualTo(429);

      go.complete(null);
      assertThat(first.get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS).body()).isEqualTo("xy");
      await().atMost(PATIENCE).until(() -> server.status("/forwarded/slow") == 200);
    }
  }
}
