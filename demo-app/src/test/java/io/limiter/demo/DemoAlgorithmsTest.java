// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.subject.ClientAddress;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import jakarta.inject.Singleton;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The demo's other algorithms, its ban, its costs, and its limit for everybody together. */
class DemoAlgorithmsTest {

  private static final String CALLER = "X-Caller";

  private final Demo demo =
      new Demo(Demo.newService(), Map.of("spec.name", DemoAlgorithmsTest.class.getSimpleName()));

  @AfterEach
  void close() {
    demo.close();
  }

  /** A token comes back in 200 ms, so within less there is none. */
  @Test
  void twentyOfManySearchesAtOnceAreAnsweredAndTheFifthRefusalIsABan() {
    demo.get("/health-free"); // connected and warm
    long before = System.nanoTime();
    List<HttpResponse<String>> answers =
        IntStream.range(0, 24).mapToObj(i -> demo.getLater("/search")).toList().stream()
            .map(CompletableFuture::join)
            .toList();
    long back = 5 * (System.nanoTime() - before) / Duration.ofSeconds(1).toNanos();

    long admitted = answers.stream().filter(answer -> answer.statusCode() == 200).count();
    assertThat(admitted).isBetween(20L, 20 + back);
    assertThat(answers)
        .filteredOn(answer -> answer.statusCode() != 200)
        .allSatisfy(DemoAlgorithmsTest::assertLimited);
    long denied = 24 - admitted;
    HttpResponse<String> next = demo.get("/search");
    while (!next.body().contains("\"banned\"")) {
      if (next.statusCode() != 200) {
        assertLimited(next);
        denied++;
      }
      next = demo.get("/search");
    }
    assertThat(denied).isEqualTo(4);
    assertThat(next.statusCode()).isEqualTo(429);
    assertThat(header(next, "Retry-After")).isEqualTo("30");
    assertThat(demo.get("/search").body()).contains("\"banned\"");
  }

  private static void assertLimited(HttpResponse<String> denied) {
    assertThat(denied.statusCode()).isEqualTo(429);
    assertThat(denied.body()).contains("\"logref\":\"rate_limited\"");
    assertThat(header(denied, "Retry-After")).isEqualTo("1");
    assertThat(header(denied, "RateLimit-Policy")).isEqualTo("\"20-at-5-per-1s\";q=20;w=4");
    assertThat(header(denied, "RateLimit")).isEqualTo("\"20-at-5-per-1s\";r=0;t=1");
  }

  @Test
  void theQuotaIsReplenishedAtTheFullMinute() {
    long earliest;
    long latest;
    HttpResponse<String> answer;
    do {
      latest = secondsLeftOfTheMinute();
      answer = demo.get("/quota");
      earliest = secondsLeftOfTheMinute();
    } while (earliest > latest); // another minute has begun meanwhile

    assertThat(header(answer, "RateLimit-Policy")).isEqualTo("\"30-per-60s\";q=30;w=60");
    assertThat(header(answer, "RateLimit")).matches("\"30-per-60s\";r=\\d+;t=\\d+");
    long reset = Long.parseLong(header(answer, "RateLimit").replaceFirst(".*;t=", ""));
    assertThat(reset).isBetween(earliest, latest);
  }

  private static long secondsLeftOfTheMinute() {
    Instant now = Instant.now();
    Instant end = now.truncatedTo(ChronoUnit.MINUTES).plus(1, ChronoUnit.MINUTES);
    return (Duration.between(now, end).toMillis() + 999) / 1_000;
  }

  @Test
  void eachCallerHasFiveCallsASecondAndAllTogetherTwenty() {
    HttpResponse<String> first = global("0");
    assertThat(header(first, "RateLimit-Policy"))
        .isEqualTo("\"5-per-1s\";q=5;w=1, \"for-all\";q=20;w=1");
    assertThat(header(first, "RateLimit")).isEqualTo("\"5-per-1s\";r=4;t=1, \"for-all\";r=19;t=1");

    // Each client exceeds its own limit, and all of them exceed the common one, concurrently.
    long before = System.nanoTime();
    List<CompletableFuture<HttpResponse<String>>> calls =
        IntStream.range(0, 48)
            .mapToObj(i -> demo.getLater("/global", CALLER, "caller-" + i % 8))
            .toList();
    List<HttpResponse<String>> answers = calls.stream().map(CompletableFuture::join).toList();
    long seconds = 1 + (System.nanoTime() - before) / Duration.ofSeconds(1).toNanos();

    long admitted = answers.stream().filter(answer -> answer.statusCode() == 200).count();
    assertThat(admitted).isBetween(19L, 20 * seconds);
    assertThat(answers).extracting(HttpResponse::statusCode).containsOnly(200, 429);
  }

  @Test
  void aClientThatUsedItsFiveLeavesTheOthersTheirs() {
    for (int i = 0; i < 3; i++) {
      long before = System.nanoTime();
      List<HttpResponse<String>> answers =
          IntStream.range(0, 6).mapToObj(call -> global("one")).toList();
      HttpResponse<String> other = global("other");
      if (System.nanoTime() - before < Duration.ofSeconds(1).toNanos()) {
        assertThat(answers.subList(0, 5)).allMatch(answer -> answer.statusCode() == 200);
        assertThat(answers.get(5).statusCode()).isEqualTo(429);
        assertThat(header(answers.get(5), "RateLimit"))
            .isEqualTo("\"5-per-1s\";r=0;t=1, \"for-all\";r=15;t=1");
        assertThat(header(other, "RateLimit"))
            .isEqualTo("\"5-per-1s\";r=4;t=1, \"for-all\";r=14;t=1");
        return;
      }
    }
    throw new AssertionError("Seven calls have taken more than a second, three times");
  }

  private HttpResponse<String> global(String caller) {
    return demo.get("/global", CALLER, caller);
  }

  @Test
  void aCallCostsWhatItAsksFor() {
    HttpResponse<String> sixty = demo.get("/items?n=60");
    assertThat(sixty.statusCode()).isEqualTo(200);
    assertThat(sixty.body()).startsWith("[1,2,3,").endsWith(",59,60]");
    assertThat(header(sixty, "RateLimit-Policy")).isEqualTo("\"100-per-10s\";q=100;w=10");
    assertThat(header(sixty, "RateLimit")).startsWith("\"100-per-10s\";r=40;");

    HttpResponse<String> denied = demo.get("/items?n=90");
    assertThat(denied.statusCode()).isEqualTo(429);
    // Until the window ends, and five sixths of the next are over.
    assertThat(Long.parseLong(header(denied, "Retry-After"))).isBetween(1L, 19L);
    assertThat(demo.get("/items?n=40").statusCode()).as("it has taken nothing").isEqualTo(200);
  }

  @Test
  void aRequestForTooManyItemsIsDeniedWithoutRetryAfter() {
    HttpResponse<String> denied = demo.get("/items?n=101");
    assertThat(denied.statusCode()).isEqualTo(429);
    assertThat(header(denied, "Retry-After")).isEmpty();
    assertThat(denied.body()).contains("exceeds the amount that is allowed at once");
    assertThat(header(demo.get("/items?n=100"), "RateLimit")).startsWith("\"100-per-10s\";r=0;");
  }

  @ParameterizedTest
  @ValueSource(strings = {"?n=0", "?n=-1", "?n=1000000001", "?n=many", ""})
  void anInvalidAmountIsABadRequestAndCostsNothing(String query) {
    assertThat(demo.get("/items" + query).statusCode()).isEqualTo(400);
    assertThat(header(demo.get("/items?n=1"), "RateLimit")).startsWith("\"100-per-10s\";r=99;");
  }

  private static String header(HttpResponse<?> answer, String name) {
    return answer.headers().firstValue(name).orElse("");
  }

  /** One test is many callers. */
  @Singleton
  @Requires(property = "spec.name", value = "DemoAlgorithmsTest")
  static class Callers implements ClientAddress {
    @Override
    public String of(HttpRequest<?> request) {
      return request.getHeaders().get(CALLER, String.class).orElse("somebody");
    }
  }
}
