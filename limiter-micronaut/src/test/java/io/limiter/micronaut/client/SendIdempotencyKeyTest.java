// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.Idempotent;
import io.limiter.micronaut.annotation.SendIdempotencyKey;
import io.limiter.micronaut.testing.HttpService;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Order;
import io.micronaut.core.async.annotation.SingleResult;
import io.micronaut.core.order.Ordered;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Header;
import io.micronaut.http.annotation.Patch;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.Put;
import io.micronaut.http.annotation.ResponseFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.http.client.annotation.Client;
import io.micronaut.http.client.exceptions.HttpClientResponseException;
import io.micronaut.retry.annotation.Retryable;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Mono;

/** Clients that send an {@code Idempotency-Key}, to a server that repeats its answers. */
@Tag("matrix")
class SendIdempotencyKeyTest {

  private static final String SERVER = "KeyedServer";
  private static final String CLIENT = "SendIdempotencyKey";
  private static final String KEY = "Idempotency-Key";

  @Controller("/keyed")
  @Requires(property = "spec.name", value = SERVER)
  static class Payments {

    final AtomicInteger runs = new AtomicInteger();

    @Post("/pay")
    @Idempotent
    String pay(@Body String payment) {
      return payment + " " + runs.incrementAndGet();
    }

    @Patch("/change")
    String change() {
      return "changed";
    }

    @Put("/put")
    String put() {
      return "put";
    }

    @Get("/get")
    String get() {
      return "got";
    }
  }

  /** A gateway before the server: it sees all requests, and loses the first answer to each key. */
  @ServerFilter("/keyed/**")
  @Order(Ordered.HIGHEST_PRECEDENCE)
  @Requires(property = "spec.name", value = SERVER)
  static class LosingGateway {

    final List<String> keys = new CopyOnWriteArrayList<>();
    private final Set<String> known = new HashSet<>();

    @ResponseFilter
    synchronized void lose(HttpRequest<?> request, MutableHttpResponse<?> response) {
      String key = request.getHeaders().get(KEY);
      keys.add(String.valueOf(key));
      if (request.getPath().endsWith("/pay") && known.add(String.valueOf(key))) {
        response.status(HttpStatus.BAD_GATEWAY).body(null);
      }
    }
  }

  @SendIdempotencyKey
  @Client("${other.url}/keyed")
  @Requires(property = "spec.name", value = CLIENT)
  interface Keyed {

    @Post("/pay")
    @Retryable(includes = HttpClientResponseException.class, delay = "1ms")
    String pay(@Body String payment);

    @Post("/pay")
    @SingleResult
    @Retryable(includes = HttpClientResponseException.class, delay = "1ms")
    CompletableFuture<String> payAsync(@Body String payment);

    @Post("/pay")
    @SingleResult
    @Retryable(includes = HttpClientResponseException.class, delay = "1ms")
    Publisher<String> payReactive(@Body String payment);

    @Post("/pay")
    @SingleResult
    Publisher<String> payOnce(@Body String payment);

    @Post("/pay")
    @Retryable(includes = HttpClientResponseException.class, delay = "1ms")
    String payWith(@Header(KEY) String key, @Body String payment);

    @Patch("/change")
    String change();

    @Put("/put")
    String put();

    @Get("/get")
    String get();
  }

  @Client("${other.url}/keyed")
  @Requires(property = "spec.name", value = CLIENT)
  interface Plain {

    @Patch("/change")
    String change();
  }

  private final HttpService server = HttpService.start(SERVER, Map.of());
  private ApplicationContext own;

  @AfterEach
  void close() {
    if (own != null) {
      own.close();
    }
    server.close();
  }

  private <T> T client(Class<T> type, Object... settings) {
    if (own == null) {
      Map<String, Object> all = HttpService.settings(settings);
      all.put("spec.name", CLIENT);
      all.put("other.url", "http://localhost:" + server.port());
      own = ApplicationContext.run(all);
    }
    return own.getBean(type);
  }

  private List<String> keys() {
    return server.bean(LosingGateway.class).keys;
  }

  private int runs() {
    return server.bean(Payments.class).runs.get();
  }

  @ParameterizedTest
  @ValueSource(strings = {"value", "stage", "publisher", "retried subscription"})
  void allAttemptsOfACallHaveOneKeySoThatTheServerRunsItOnce(String result) {
    Keyed client = client(Keyed.class);

    assertThat(pay(client, result, "tea")).isEqualTo("tea 1");
    assertThat(pay(client, result, "rum")).isEqualTo("rum 2");

    assertThat(runs()).isEqualTo(2);
    assertThat(keys()).hasSize(4).allMatch(key -> key.matches("\"[0-9a-f-]{36}\""));
    assertThat(keys().get(1)).isEqualTo(keys().get(0));
    assertThat(keys().get(3)).isEqualTo(keys().get(2)).isNotEqualTo(keys().get(0));
  }

  private static String pay(Keyed client, String result, String payment) {
    return switch (result) {
      case "value" -> client.pay(payment);
      case "stage" -> client.payAsync(payment).join();
      case "publisher" -> Mono.from(client.payReactive(payment)).block();
      default -> Mono.from(client.payOnce(payment)).retry(1).block();
    };
  }

  @Test
  void aKeyOfTheCallerIsKept() {
    Keyed client = client(Keyed.class);

    assertThat(client.payWith("order-7", "tea")).isEqualTo("tea 1");
    assertThat(keys()).containsExactly("order-7", "order-7");
  }

  @Test
  void onlySomeMethodsHaveAKey() {
    Keyed client = client(Keyed.class);
    client.change();
    client.put();
    client.get();

    assertThat(keys().get(0)).startsWith("\"");
    assertThat(keys().subList(1, 3)).containsOnly("null");
  }

  @Test
  void theMethodsAreASetting() {
    Keyed client = client(Keyed.class, "limiter.client.idempotency-methods", "PUT");
    client.change();
    client.put();

    assertThat(keys().get(0)).isEqualTo("null");
    assertThat(keys().get(1)).startsWith("\"");
  }

  @Test
  void otherClientsSendNone() {
    client(Plain.class).change();

    assertThat(keys()).containsExactly("null");
  }

  @ParameterizedTest
  @ValueSource(strings = {"post", "POST PATCH"})
  void aMistakeStopsTheStart(String methods) {
    assertThat(Starts.mistake(Map.of("limiter.client.idempotency-methods", methods)))
        .hasMessageContaining("limiter.client.idempotency-methods")
        .hasMessageContaining("set it to names of HTTP methods in capitals, such as POST");
  }
}
