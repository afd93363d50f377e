// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.plot;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.FadingCounter;
import io.limiter.core.Policy;
import io.limiter.core.redis.RedisStore;
import io.limiter.core.redis.TestRedis;
import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.rule.TokenBucketRule;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.ZoneOffset;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The pictures of the documentation match the present decisions of Redis: each algorithm is called
 * at the same times.
 */
class PicturesTest {

  private static final Path PICTURES = Path.of("..", "docs", "pictures");
  private static final boolean WRITE = "write".equals(System.getProperty("limiter.pictures"));

  /** A picture and the name of its file; the rule has the title's numbers. */
  record Case(String file, String title, Policy policy) {

    static Case of(String file, String title, Rule rule) {
      return new Case(file, title, Policy.of(file, rule));
    }

    @Override
    public String toString() {
      return file;
    }
  }

  private static TestRedis redis;
  private static RedisStore store;

  @BeforeAll
  static void open() {
    redis = new TestRedis();
    store = redis.store();
  }

  @AfterAll
  static void close() {
    store.close();
    redis.close();
  }

  static Stream<Case> pictures() {
    Rule log = SlidingWindowLogRule.of(10, Run.WINDOW);
    BanRule ban = BanRule.of(5, Run.WINDOW, Duration.ofSeconds(5));
    return Stream.of(
        Case.of("sliding-window-log", "Sliding window log: 10 in any 10 s", log),
        Case.of(
            "sliding-window-counter",
            "Sliding window counter: about 10 in 10 s",
            SlidingWindowCounterRule.of(10, Run.WINDOW)),
        Case.of(
            "fixed-window",
            "Fixed window, aligned: 10 in each 10 s",
            FixedWindowRule.aligned(10, Run.WINDOW, ZoneOffset.UTC)),
        Case.of(
            "token-bucket",
            "Token bucket: 10, refilled 10 in 10 s",
            TokenBucketRule.of(10, 10, Run.WINDOW)),
        Case.of(
            "leaky-bucket",
            "Leaky bucket: 10 in 10 s, 9 may wait",
            LeakyBucketRule.of(10, Run.WINDOW, 9, Run.WINDOW)),
        Case.of(
            "fading-counter",
            "Fading counter: 10, half forgiven each 10 s",
            CustomRule.of(new FadingCounter(), 10, Run.WINDOW, 2.0)),
        new Case(
            "ban",
            "Sliding window log, 5 denied: banned for 5 s",
            Policy.of("ban", log).withBan(ban)));
  }

  @ParameterizedTest
  @MethodSource("pictures")
  void aPictureShowsWhatRedisDecides(Case shown) throws IOException {
    Path file = PICTURES.resolve(shown.file + ".svg");
    Run run = Run.of(shown.policy, store, redis::setClock);

    String drawn = new Picture(shown.title, run, 10).svg();

    if (WRITE) {
      Files.createDirectories(PICTURES);
      Files.writeString(file, drawn);
    }
    assertThat(file).as("redrawn with: mvnw test -Ppictures").hasContent(drawn);
  }

  /** The bound that each page states; the calls are chosen so that all but the counter reach it. */
  @Test
  void thePicturesKeepTheBoundsOfThePages() {
    Map<String, Integer> most =
        Map.of(
            "sliding-window-log",
            10,
            "sliding-window-counter",
            2 * 10 - 1,
            "fixed-window",
            2 * 10,
            "token-bucket",
            10 + 10,
            "leaky-bucket",
            10,
            "fading-counter",
            2 * 10 - 10 / 2,
            "ban",
            10);
    pictures()
        .forEach(
            shown ->
                assertThat(Run.of(shown.policy, store, redis::setClock).most())
                    .as(shown.file)
                    .isBetween(10, most.get(shown.file)));
  }

  @Test
  void thereIsNoPictureOfNothing() throws IOException {
    try (Stream<Path> files = Files.list(PICTURES)) {
      assertThat(files.map(file -> file.getFileName().toString()))
          .containsExactlyInAnyOrderElementsOf(
              pictures().map(shown -> shown.file + ".svg").toList());
    }
  }
}
