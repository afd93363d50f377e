// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpResponse;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The demo's calls in flight, and those that count by how they have ended. */
class DemoOutcomesTest {

  private final Demo demo = Demo.start();

  @AfterEach
  void close() {
    demo.close();
  }

  @Test
  void threeSlowCallsRunAtOnceAndTheNextOnesWhenTheseAreDone() {
    demo.get("/health-free"); // connected and warm
    List<HttpResponse<String>> answers = slow(5);

    assertThat(answers)
        .extracting(HttpResponse::statusCode)
        .containsExactlyInAnyOrder(200, 200, 200, 429, 429);
    assertThat(answers)
        .filteredOn(answer -> answer.statusCode() == 429)
        .allSatisfy(
            denied -> {
              assertThat(field(denied, "Retry-After")).isEmpty();
              assertThat(field(denied, "RateLimit-Policy"))
                  .isEqualTo("\"3-in-flight\";q=3;qu=\"concurrent-requests\"");
              assertThat(field(denied, "RateLimit")).isEqualTo("\"3-in-flight\";r=0");
            });
    assertThat(slow(3)).extracting(HttpResponse::statusCode).containsOnly(200);
  }

  @Test
  void aStreamEndsOnceTheTokensOfItsKeyAreUsedUp() {
    HttpResponse<String> first = complete("ann", 150);
    assertThat(first.statusCode()).isEqualTo(200);
    assertThat(first.body().split("data: ", -1)).hasSize(151);

    HttpResponse<String> cut = complete("ann", 150);
    assertThat(cut.statusCode()).isEqualTo(200);
    assertThat(cut.body().split("data: ", -1)).as("50 tokens and the end").hasSize(52);
    assertThat(cut.body()).endsWith("data: [out of tokens: tokens-per-minute]\n\n");
    assertThat(complete("ann", 1).statusCode()).isEqualTo(429);
    assertThat(complete("bob", 1).statusCode()).isEqualTo(200);
  }

  private HttpResponse<String> complete(String key, int tokens) {
    return demo.post("/llm?model=SMALL&tokens=" + tokens, "", "X-Api-Key", key);
  }

  private List<HttpResponse<String>> slow(int calls) {
    return IntStream.range(0, calls).mapToObj(i -> demo.getLater("/slow")).toList().stream()
        .map(CompletableFuture::join)
        .toList();
  }

  @Test
  void afterThreeWrongPasswordsNoneIsLookedAt() {
    for (int i = 0; i < 3; i++) {
      assertThat(logIn("ann", "guess-" + i).statusCode()).isEqualTo(401);
    }

    for (String password : List.of("guess-4", "ann")) {
      HttpResponse<String> asked = logIn("ann", password);
      assertThat(asked.statusCode()).isEqualTo(200);
      assertThat(asked.body()).isEqualTo("{\"captcha\":true}");
    }
    assertThat(logIn("bob", "bob").body()).isEqualTo("{\"name\":\"bob\"}");
  }

  @Test
  void aRightPasswordIsNotCounted() {
    for (int i = 0; i < 10; i++) {
      assertThat(logIn("ann", "ann").body()).isEqualTo("{\"name\":\"ann\"}");
    }
  }

  @Test
  void threeOfManyGuessesAtOnceAreLookedAt() {
    List<HttpResponse<String>> answers =
        IntStream.range(0, 100)
            .mapToObj(i -> demo.postLater("/login?user=ann&password=guess-" + i, ""))
            .toList()
            .stream()
            .map(CompletableFuture::join)
            .toList();

    assertThat(answers).filteredOn(answer -> answer.statusCode() == 401).hasSize(3);
    assertThat(answers).filteredOn(answer -> answer.body().contains("captcha")).hasSize(97);
  }

  private HttpResponse<String> logIn(String user, String password) {
    return demo.post("/login?user=" + user + "&password=" + password, "");
  }

  private static String field(HttpResponse<?> answer, String name) {
    return answer.headers().firstValue(name).orElse("");
  }
}
