// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Exports leave two a second, and those that come early wait. */
@Tag("matrix")
class DemoExportTest {

  /** What a thread may have to wait for one of two cores that others use too. */
  private static final long NOISE_MILLIS = 150;

  private final Demo demo = Demo.start();

  @BeforeEach
  void warmUp() {
    demo.get("/health-free"); // connected and warm
  }

  @AfterEach
  void stop() {
    demo.close();
  }

  @Test
  void eightAtOnceLeaveTwoASecond() {
    List<HttpResponse<String>> answers = export(8);

    assertThat(answers).extracting(HttpResponse::statusCode).containsOnly(200);
    List<Instant> begun =
        answers.stream()
            .map(answer -> Instant.parse(answer.body().replaceAll(".*:\"(.*)\".*", "$1")))
            .sorted()
            .toList();
    for (int i = 1; i < 8; i++) {
      assertThat(Duration.between(begun.get(0), begun.get(i)).toMillis())
          .isBetween(i * 500L - NOISE_MILLIS, i * 500L + NOISE_MILLIS);
    }
  }

  @Test
  void oneOfTwentyExportsBeginsAtOnceTenWaitAndNineAreRefused() {
    List<HttpResponse<String>> answers = export(20);

    assertThat(answers).filteredOn(answer -> answer.statusCode() == 200).hasSize(11);
    assertThat(answers).filteredOn(answer -> answer.statusCode() == 429).hasSize(9);
  }

  private List<HttpResponse<String>> export(int calls) {
    return IntStream.range(0, calls).mapToObj(i -> demo.postLater("/export", "")).toList().stream()
        .map(CompletableFuture::join)
        .toList();
  }
}
