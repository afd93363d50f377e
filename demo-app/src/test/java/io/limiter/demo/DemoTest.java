// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What docs/demo.md says of the demo, over HTTP, in Redis. */
class DemoTest {

  private final Demo demo = Demo.start();

  @AfterEach
  void close() {
    demo.close();
  }

  @Test
  void articlesCanBeReadTenTimesAMinute() {
    long before = System.nanoTime();
    List<HttpResponse<String>> answers =
        IntStream.range(0, 12).mapToObj(i -> demo.get("/articles")).toList();
    Duration took = Duration.ofNanos(System.nanoTime() - before);

    assertThat(answers.subList(0, 10)).extracting(HttpResponse::statusCode).containsOnly(200);
    assertThat(answers.subList(10, 12)).extracting(HttpResponse::statusCode).containsOnly(429);
    assertThat(header(answers.get(0), "RateLimit-Policy"))
        .isEqualTo("\"10-per-60s\";q=10;w=60, \"100-per-3600s\";q=100;w=3600");
    assertThat(header(answers.get(0), "RateLimit"))
        .isEqualTo("\"10-per-60s\";r=9;t=60, \"100-per-3600s\";r=99;t=3600");
    HttpResponse<String> denied = answers.get(10);
    // 60 s less what has passed since the first call, rounded up.
    assertThat(Long.parseLong(header(denied, "Retry-After"))).isBetween(60 - took.toSeconds(), 60L);
    assertThat(header(denied, "RateLimit"))
        .matches("\"10-per-60s\";r=0;t=\\d+, \"100-per-3600s\";r=90;t=\\d+");
    assertThat(header(denied, "Content-Type")).isEqualTo("application/json");
    assertThat(denied.body())
        .contains(
            "\"message\":\"Too Many Requests\"", "\"logref\":\"rate_limited\"", "\"/articles\"")
        .contains("Too many requests, try again later");
  }

  @Test
  void aCodeIsSentOnceAMinuteToEachPhone() {
    assertThat(demo.post("/sms/code?phone=555-1234", "").statusCode()).isEqualTo(200);

    HttpResponse<String> again = demo.post("/sms/code?phone=555-1234", "");
    assertThat(again.statusCode()).isEqualTo(429);
    assertThat(again.body()).contains("A code was sent a moment ago");
    assertThat(Long.parseLong(header(again, "Retry-After"))).isBetween(50L, 60L);

    HttpResponse<String> other = demo.post("/sms/code?phone=555-9999", "");
    assertThat(other.statusCode()).isEqualTo(200);
    assertThat(other.body()).isEqualTo("{\"sentTo\":\"555-9999\"}");
  }

  @Test
  void noCodeIsSentWithoutAPhoneNumber() {
    assertThat(demo.post("/sms/code?phone=", "").statusCode()).isEqualTo(400);
    assertThat(demo.post("/sms/code", "").statusCode()).isEqualTo(400);
  }

  @Test
  void anOrderIsTakenOnceAndADuplicateCostsNothing() {
    HttpResponse<String> first = demo.post("/orders", "{\"item\":\"tea\",\"amount\":1}");
    assertThat(first.statusCode()).isEqualTo(201);
    assertThat(header(first, "RateLimit")).startsWith("\"5-per-10s\";r=4;");

    HttpResponse<String> again = demo.post("/orders", "{ \"amount\": 1.0, \"item\": \"tea\" }");
    assertThat(again.statusCode()).isEqualTo(409);
    assertThat(again.body()).contains("\"logref\":\"duplicate_submission\"");
    assertThat(header(again, "Retry-After")).isEmpty();
    assertThat(header(again, "RateLimit")).startsWith("\"5-per-10s\";r=4;");

    HttpResponse<String> other = demo.post("/orders", "{\"item\":\"milk\",\"amount\":1}");
    assertThat(other.statusCode()).isEqualTo(201);
    assertThat(header(other, "RateLimit")).startsWith("\"5-per-10s\";r=3;");
  }

  @Test
  void aRepetitionReceivesTheSamePayment() {
    HttpResponse<String> first = demo.post("/checkout/payment", "{}", "Idempotency-Key", "one");
    HttpResponse<String> again = demo.post("/checkout/payment", "{}", "Idempotency-Key", "one");
    assertThat(first.statusCode()).isEqualTo(201);
    assertThat(again.statusCode()).isEqualTo(201);
    assertThat(again.body()).isEqualTo(first.body());
    assertThat(again.headers().firstValue("Idempotency-Replayed")).hasValue("true");
  }

  @Test
  void aCheckoutIsAcceptedOnceUnlessItFailed() {
    assertThat(demo.post("/checkout", "{\"fail\":true}").statusCode()).isEqualTo(500);
    assertThat(demo.post("/checkout", "{\"fail\":true}").statusCode()).isEqualTo(500);
    assertThat(demo.post("/checkout", "{}").statusCode()).isEqualTo(201);

    HttpResponse<String> again = demo.post("/checkout", "{\"other\":1}");
    assertThat(again.statusCode()).isEqualTo(409);
    assertThat(header(again, "Retry-After")).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {"/reports | {\"sold\":42}", "/feed | [{\"item\":1},{\"item\":2},{\"item\":3}]"})
  void resultsThatComeLaterAreLimitedLikeOthers(String path, String body) {
    for (int left = 4; left >= 0; left--) {
      HttpResponse<String> answer = demo.get(path);
      assertThat(answer.statusCode()).isEqualTo(200);
      assertThat(answer.body()).isEqualTo(body);
      assertThat(header(answer, "RateLimit")).startsWith("\"5-per-10s\";r=" + left + ";");
    }

    HttpResponse<String> denied = demo.get(path);
    assertThat(denied.statusCode()).isEqualTo(429);
    assertThat(Long.parseLong(header(denied, "Retry-After"))).isBetween(1L, 10L);
    assertThat(denied.body()).contains("\"logref\":\"rate_limited\"");
  }

  @Test
  void anUnlimitedRouteIsLeftAlone() {
    for (int i = 0; i < 30; i++) {
      HttpResponse<String> answer = demo.get("/health-free");
      assertThat(answer.statusCode()).isEqualTo(200);
      assertThat(answer.body()).isEqualTo("{\"status\":\"UP\"}");
      assertThat(answer.headers().map()).doesNotContainKeys("ratelimit", "ratelimit-policy");
    }
  }

  @Test
  void aHotSubjectIsDecidedByLeases() {
    List<String> deciders =
        IntStream.range(0, 500).mapToObj(i -> header(demo.get("/hot"), "X-Decided-By")).toList();

    assertThat(deciders).containsOnly("STORE", "LEASE");
  }

  private static String header(HttpResponse<?> answer, String name) {
    return answer.headers().firstValue(name).orElse("");
  }
}
