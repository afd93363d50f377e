// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.net.Inet4Address;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/** The endpoint {@code limits} of the demo, and an incident from the flood to its end. */
class DemoOperatorsTest {

  private static final Duration PATIENCE = Duration.ofSeconds(20);
  private static final String SEARCH = "search";

  private static String basic(String user) {
    return "Basic "
        + Base64.getEncoder().encodeToString((user + ':' + user).getBytes(StandardCharsets.UTF_8));
  }

  private static String read(Demo demo, String path) {
    HttpResponse<String> answer = demo.get(path, "Authorization", basic("admin"));
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
    return answer.body();
  }

  private static String write(Demo demo, String path, String body) {
    HttpResponse<String> answer = demo.post(path, body, "Authorization", basic("admin"));
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
    return answer.body();
  }

  private static Demo behindProxy(String service) {
    return new Demo(
        service,
        Map.of(
            "limiter.address.trusted-proxies",
            "127.0.0.1",
            "limiter.deny-cache.enabled",
            true,
            "limiter.overrides.interval",
            "200ms"));
  }

  @Test
  void onlyTheOperatorMayReadAndChange() {
    try (Demo demo = Demo.start()) {
      assertThat(demo.get("/limits").statusCode()).isEqualTo(401);
      assertThat(demo.post("/limits/articles/reset", "{}").statusCode()).isEqualTo(401);
      assertThat(demo.get("/limits", "Authorization", basic("bob")).statusCode()).isEqualTo(403);

      assertThat(read(demo, "/limits")).startsWith("{\"policies\":[{\"policy\":");
    }
  }

  /** With micronaut-serde, which the demo has. */
  @Test
  void theOperatorFreesAnIdempotencyKey() {
    try (Demo demo = new Demo(Demo.newService(), Map.of("endpoints.idempotency.enabled", true))) {
      String first = demo.post("/checkout/payment", "{}", "Idempotency-Key", "1").body();
      assertThat(demo.post("/checkout/payment", "{}", "Idempotency-Key", "1").body())
          .isEqualTo(first);
      String body =
          "{\"route\": \"%s\", \"address\": \"127.0.0.1\", \"key\": \"1\"}"
              .formatted("io.limiter.demo.CheckoutController.pay(Map)");
      assertThat(demo.post("/idempotency", body).statusCode()).isEqualTo(401);
      assertThat(write(demo, "/idempotency", body)).isEqualTo("{\"forgotten\":true}");
      assertThat(demo.post("/checkout/payment", "{}", "Idempotency-Key", "1").body())
          .isNotEqualTo(first);
    }
  }

  @Test
  void theOperatorIsRejectedFromAnotherAddress() throws Exception {
    Optional<String> other = otherAddress();
    Assumptions.assumeTrue(other.isPresent(), "this machine has only its loopback address");
    try (Demo demo = new Demo(Demo.newService(), Map.of("micronaut.server.host", "0.0.0.0"))) {
      HttpRequest request =
          HttpRequest.newBuilder(
                  URI.create("http://%s:%d/limits".formatted(other.get(), demo.port())))
              .header("Authorization", basic("admin"))
              .header("X-Forwarded-For", "127.0.0.1")
              .header("Forwarded", "for=127.0.0.1")
              .build();

      assertThat(HttpClient.newHttpClient().send(request, BodyHandlers.ofString()).statusCode())
          .isEqualTo(403);
    }
  }

  private static Optional<String> otherAddress() throws SocketException {
    return NetworkInterface.networkInterfaces()
        .flatMap(NetworkInterface::inetAddresses)
        .filter(Inet4Address.class::isInstance)
        .filter(address -> !address.isLoopbackAddress())
        .map(address -> address.getHostAddress())
        .findFirst();
  }

  /** An incident as in docs/service.md, with a ban and two instances. */
  @Test
  void aFloodIsSeenItsCallerFoundGivenOtherLimitsAndItsBanLifted() {
    String service = Demo.newService();
    try (Demo one = behindProxy(service);
        Demo two = behindProxy(service)) {
      for (int i = 0; i < 40; i++) {
        search(one, "192.0.2.66");
      }
      search(one, "192.0.2.1");

      assertThat(one.get("/prometheus").body()).contains("outcome=\"banned\",policy=\"search\"");
      String talkers = read(one, "/limits/" + SEARCH);
      assertThat(talkers)
          .contains("\"clear\":\"ip 192.0.2.66\"")
          .contains("\"countedBy\":\"limitType = IP\"");

      String caller = "\"address\": \"192.0.2.66\"";
      assertThat(write(two, "/limits/" + SEARCH + "/look", "{%s}".formatted(caller)))
          .contains("\"passes\":false", "\"outcome\":\"banned\"");
      assertThat(
              write(
                  one,
                  "/limits/" + SEARCH + "/override",
                  "{%s, \"unlimited\": true, \"time\": \"10m\"}".formatted(caller)))
          .contains("\"unlimited\":true");

      await().atMost(PATIENCE).until(() -> search(two, "192.0.2.66") == 200);
      assertThat(read(two, "/limits")).contains("\"overrides\":[{\"policy\":");
      write(two, "/limits/" + SEARCH + "/end-override", "{%s}".formatted(caller));
      assertThat(search(two, "192.0.2.66")).isEqualTo(429);

      assertThat(write(two, "/limits/" + SEARCH + "/lift-ban", "{%s}".formatted(caller)))
          .contains("\"before\":{\"passes\":false,\"outcome\":\"banned\"");
      write(two, "/limits/" + SEARCH + "/reset", "{%s}".formatted(caller));
      await().atMost(PATIENCE).until(() -> search(one, "192.0.2.66") == 200);
    }
  }

  private static int search(Demo demo, String address) {
    return demo.get("/search", "X-Forwarded-For", address).statusCode();
  }
}
