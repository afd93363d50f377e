// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import static org.assertj.core.api.Assertions.assertThat;

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
import io.micronaut.runtime.server.EmbeddedServer;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Mono;

/** Clients that send an {@code Idempotency-Key}. */
@Tag("matrix")
class SendIdempotencyKeyTest {

  private static final String SERVER = "KeyedServer";
  private static final String CLIENT = "SendIdempotencyKey";
  private static final String KEY = "Idempotency-Key";

  @Controller("/keyed")
  @Requires(property = "spec.name", value = SERVER)
  static class Payments {

    @Post("/pay")
    String pay(@Body String payment) {
      return payment;
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

  private final EmbeddedServer server =
      ApplicationContext.run(EmbeddedServer.class, Map.of("spec.name", SERVER));
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
      Map<String, Object> all = settings(settings);
      all.put("spec.name", CLIENT);
      all.put("other.url", "http://localhost:" + server.getPort());
      own = ApplicationContext.run(all);
    }
    return own.getBean(type);
  }

  private List<String> keys() {
    return server.getApplicationContext().getBean(LosingGateway.class).keys;
  }

  private static Map<String, Object> settings(Object... pairs) {
    Map<String, Object> settings = new HashMap<>();
    for (int i = 0; i < pairs.length; i += 2) {
      settings.put(pairs[i].toString(), pairs[i + 1]);
    }
    return settings;
  }

  @ParameterizedTest
  @ValueSource(strings = {"value", "stage", "publisher", "retried subscription"})
  void allAttemptsOfACallHaveOneKey(String result) {
    Keyed client = client(Keyed.class);

    assertThat(pay(client, result, "tea")).isEqualTo("tea");
    assertThat(pay(client, result, "rum")).isEqualTo("rum");

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

    assertThat(client.payWith("order-7", "tea")).isEqualTo("tea");
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
    Keyed client = client(Keyed.class, "limiter.idempotency.client-methods", "PUT");
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
}
