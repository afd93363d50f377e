// SPDX-License-Identifier: Apache-2.0
package io.limiter.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.HttpService;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.async.annotation.SingleResult;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Header;
import io.micronaut.http.client.annotation.Client;
import io.micronaut.http.client.exceptions.HttpClientResponseException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Clients that obey what another service responds about its limits. */
@Tag("matrix")
class ObeyRateLimitsTest {

  private static final String OTHER = "OtherService";
  private static final String OWN = "ObeyRateLimits";

  @Controller("/other")
  @Requires(property = "spec.name", value = OTHER)
  static class Other {

    final AtomicInteger calls = new AtomicInteger();

    /** Responds as the call asks for. */
    @Get("/scripted")
    HttpResponse<String> scripted(@Header("X-Status") int status, @Header("X-Lines") String lines) {
      calls.incrementAndGet();
      MutableHttpResponse<String> response = HttpResponse.status(HttpStatus.valueOf(status));
      for (String line : lines.split("~")) {
        int colon = line.indexOf(':');
        response.header(line.substring(0, colon).strip(), line.substring(colon + 1).strip());
      }
      return response.body("ok");
    }

    @Get("/free")
    String free() {
      return "ok";
    }

    @Get("/limited")
    @RateRule(count = 3, time = 1)
    String limited() {
      calls.incrementAndGet();
      return "ok";
    }
  }

  interface Scripted {
    @Get("/scripted")
    HttpResponse<String> scripted(@Header("X-Status") int status, @Header("X-Lines") String lines);

    @Get("/limited")
    String limited();
  }

  @ObeyRateLimits
  @Client("${other.address}/other")
  @Requires(property = "spec.name", value = OWN)
  interface ByAddress extends Scripted {}

  @ObeyRateLimits
  @Client("${other.url}/other")
  @Requires(property = "spec.name", value = OWN)
  interface Obedient extends Scripted {
    @Get("/limited")
    @SingleResult
    CompletableFuture<String> limitedAsync();

    @Get("/free")
    @SingleResult
    CompletableFuture<String> freeAsync();
  }

  @Client("${other.url}/other")
  @Requires(property = "spec.name", value = OWN)
  interface Careless {
    @Get("/limited")
    String limited();
  }

  private final HttpService other = HttpService.start(OTHER, Map.of());
  private ApplicationContext own;

  @AfterEach
  void close() {
    if (own != null) {
      own.close();
    }
    other.close();
  }

  private <T> T client(Class<T> type, Object... settings) {
    if (own == null) {
      Map<String, Object> all = HttpService.settings(settings);
      all.put("spec.name", OWN);
      all.put("other.url", "http://localhost:" + other.port());
      all.put("other.address", "http://127.0.0.1:" + other.port());
      own = ApplicationContext.run(all);
    }
    return own.getBean(type);
  }

  private int calls() {
    return other.bean(Other.class).calls.get();
  }

  @Test
  void aCallWaitsUntilTheOtherServiceAdmitsIt() {
    Obedient client = client(Obedient.class);
    long begin = System.nanoTime();
    List<String> responses = IntStream.range(0, 9).mapToObj(i -> client.limited()).toList();

    assertThat(responses).hasSize(9).containsOnly("ok");
    assertThat(Duration.ofNanos(System.nanoTime() - begin)).isGreaterThan(Duration.ofMillis(1_900));
  }

  @Test
  void withoutTheAnnotationItFails() {
    Careless client = client(Careless.class);
    assertThatThrownBy(() -> IntStream.range(0, 9).forEach(i -> client.limited()))
        .isInstanceOf(HttpClientResponseException.class)
        .hasMessageContaining("Too Many Requests");
  }

  @Test
  void callsThatWaitTakeNoThreadOfTheirOwnAndAllEnd() throws Exception {
    Obedient client = client(Obedient.class, "limiter.client.max-wait", "20s");
    IntStream.range(0, 3).forEach(i -> client.limited());
    List<CompletableFuture<String>> waiting =
        IntStream.range(0, 3).mapToObj(i -> client.limitedAsync()).toList();

    for (CompletableFuture<String> one : waiting) {
      assertThat(one.get(20, TimeUnit.SECONDS)).isEqualTo("ok");
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "429 | Retry-After: 60",
        "403 | Retry-After: 60",
        "200 | RateLimit: \"a\";r=5;t=10 ~ RateLimit: \"b\";r=0;t=60",
        "403 | X-RateLimit-Remaining: 0 ~ X-RateLimit-Reset: 60"
      })
  void aLongerPauseThanACallMayWaitIsAnErrorThatStatesIt(int status, String lines) {
    Obedient client = client(Obedient.class);
    call(client, status, lines);

    ServerRateLimitException rejected =
        catchThrowableOfType(ServerRateLimitException.class, client::limited);
    assertThat(rejected)
        .hasMessageContaining("http://localhost:" + other.port())
        .hasMessageContaining("limiter.client.max-wait = 2000 ms");
    assertThat(rejected.retryAfter()).isBetween(Duration.ofSeconds(50), Duration.ofSeconds(60));
    assertThat(calls()).isEqualTo(1);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {"200 | Retry-After: 60", "429 | Retry-After: soon", "429 | X-Other: 60"})
  void otherResponsesAskForNoPause(int status, String lines) {
    Obedient client = client(Obedient.class);
    call(client, status, lines);

    assertThat(client.limited()).isEqualTo("ok");
    assertThat(calls()).isEqualTo(2);
  }

  @Test
  void aRetryAfterAboveTheMaximumIsIgnored() {
    Obedient client = client(Obedient.class, "limiter.client.max-retry-after", "1s");
    call(client, 429, "Retry-After: 9999999999");

    assertThat(client.limited()).isEqualTo("ok");
  }

  @Test
  void callsFailAtOnceWithoutAWait() {
    Obedient client = client(Obedient.class, "limiter.client.max-wait", "0s");
    call(client, 429, "Retry-After: 1");

    assertThatThrownBy(client::limited).isInstanceOf(ServerRateLimitException.class);
  }

  @Test
  void oneCallMoreThanMayWaitFailsAtOnce() throws Exception {
    Obedient client = client(Obedient.class, "limiter.client.max-waiters", 1);
    call(client, 429, "Retry-After: 1");
    CompletableFuture<String> first = client.limitedAsync();

    assertThatThrownBy(client::limited)
        .isInstanceOf(ServerRateLimitException.class)
        .hasMessageContaining("limiter.client.max-waiters");
    assertThat(first.get(20, TimeUnit.SECONDS)).isEqualTo("ok");
  }

  /** One server by two names counts as two. */
  @Test
  void onlyServersThatHaveAskedForAPauseAreKnownAndNoMoreThanTheMaximum() {
    Obedient client = client(Obedient.class, "limiter.client.max-servers", 1);
    ByAddress byAddress = client(ByAddress.class);
    assertThat(client.limited()).isEqualTo("ok");
    call(byAddress, 429, "Retry-After: 60");
    call(client, 429, "Retry-After: 60");

    assertThatThrownBy(byAddress::limited).isInstanceOf(ServerRateLimitException.class);
    assertThat(client.limited()).isEqualTo("ok");
  }

  @Test
  void callsReturnSpreadOverAShareOfThePauseAndNeverBeforeItsEnd() throws Exception {
    Obedient client =
        client(Obedient.class, "limiter.client.max-wait", "60s", "limiter.client.jitter", 1);
    long begin = System.nanoTime();
    call(client, 429, "Retry-After: 3");
    List<CompletableFuture<Long>> waiting =
        IntStream.range(0, 20)
            .mapToObj(i -> client.freeAsync().thenApply(ok -> System.nanoTime() - begin))
            .toList();

    List<Long> returned = new ArrayList<>();
    for (CompletableFuture<Long> one : waiting) {
      returned.add(one.get(60, TimeUnit.SECONDS));
    }
    Collections.sort(returned);
    assertThat(returned.get(0)).isGreaterThan(TimeUnit.SECONDS.toNanos(3));
    assertThat(returned.get(19) - returned.get(0)).isGreaterThan(TimeUnit.SECONDS.toNanos(1));
  }

  @Test
  void theJitterIsEvenAndZeroWithoutAShare() {
    RandomGenerator random = new Random(63);
    ServerLimitsFilter.Pause pause = new ServerLimitsFilter.Pause(0, Duration.ofSeconds(10));
    int[] inTenth = new int[10];
    for (int i = 0; i < 10_000; i++) {
      long later = pause.laterNanos(0.5, random);
      assertThat(later).isBetween(0L, TimeUnit.SECONDS.toNanos(5) - 1);
      inTenth[(int) (later / TimeUnit.MILLISECONDS.toNanos(500))]++;
    }
    for (int calls : inTenth) {
      assertThat(calls).isBetween(900, 1_100);
    }
    assertThat(pause.laterNanos(0, random)).isZero();
  }

  private static void call(Scripted client, int status, String lines) {
    try {
      client.scripted(status, lines);
    } catch (HttpClientResponseException asked) {
      assertThat(asked.getStatus().getCode()).isEqualTo(status);
    }
  }
}
