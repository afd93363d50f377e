// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.limiter.micronaut.annotation.LeakyBucket;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.exception.RateLimitExceededException;
import io.limiter.micronaut.testing.HttpService;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.client.annotation.Client;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** The calls of a declarative client depart evenly, from any caller. */
class PacedClientTest {

  private static final String SPEC = "PacedClientTest";
  private static final long INTERVAL = 250;
  private static final long NOISE = 3_000;

  /** Another service's interface. */
  @Client("/")
  @Requires(property = "spec.name", value = SPEC)
  interface Partner {

    @Get("/partner")
    @RateLimiter(
        limitType = LimitType.GLOBAL,
        rules = @RateRule(count = 4, time = 1, leakyBucket = @LeakyBucket(queue = 3)))
    Mono<String> ask();

    @Get("/partner")
    @RateLimiter(
        limitType = LimitType.GLOBAL,
        rules = @RateRule(count = 4, time = 1, leakyBucket = @LeakyBucket(queue = 3)))
    CompletableFuture<String> askLater();

    @Get("/partner")
    Mono<String> askUnlimited();
  }

  @Controller
  @Requires(property = "spec.name", value = SPEC)
  static class There {

    private final List<Long> came = new CopyOnWriteArrayList<>();

    @Get("/partner")
    String answer() {
      came.add(System.nanoTime());
      return "answer";
    }
  }

  @Test
  void fourOfFiveCallsLeaveEvenlyAndOneIsDeniedBeforeItIsMade() {
    try (TestServer server =
        TestServer.start(SPEC, Map.of("limiter.fallback", "deny", HttpService.AT_ROOT, true))) {
      Partner partner = server.bean(Partner.class);
      List<Long> came = server.bean(There.class).came;
      // A client is created by its first call, which may take longer than a place in the queue.
      partner.askUnlimited().block(Duration.ofSeconds(20));
      came.clear();

      long begun = System.nanoTime();
      List<String> answers =
          Flux.range(0, 5)
              .flatMap(
                  i ->
                      partner
                          .ask()
                          .onErrorResume(RateLimitExceededException.class, e -> Mono.just("no")))
              .collectList()
              .block(Duration.ofSeconds(20));
      assertThat(answers).containsExactlyInAnyOrder("answer", "answer", "answer", "answer", "no");
      assertEven(came, begun);

      came.clear();
      long begunLater = System.nanoTime();
      List<CompletableFuture<String>> later =
          IntStream.range(0, 5).mapToObj(i -> partner.askLater()).toList();
      assertThat(later.stream().filter(answer -> answered(answer)).count()).isEqualTo(4);
      assertEven(came, begunLater);
    }
  }

  private static boolean answered(CompletableFuture<String> answer) {
    if (answer.handle((text, failure) -> failure == null).join()) {
      return true;
    }
    assertThatThrownBy(answer::join).hasCauseInstanceOf(RateLimitExceededException.class);
    return false;
  }

  /** Never too early; a busy machine may be late with any of them. */
  private static void assertEven(List<Long> came, long begun) {
    List<Long> sorted = came.stream().sorted().toList();
    assertThat(sorted).hasSize(4);
    for (int i = 1; i < 4; i++) {
      assertThat((sorted.get(i) - begun) / 1_000_000).isBetween(i * INTERVAL, i * INTERVAL + NOISE);
    }
  }
}
