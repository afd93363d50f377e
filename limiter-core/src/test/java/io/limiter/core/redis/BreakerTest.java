// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.limiter.core.redis.Breaker.Period;
import io.limiter.core.redis.RedisHealth.NodeListener;
import io.limiter.core.testing.RecordedLog;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** When a breaker opens, what closes it, and what it reports to the log and to listeners. */
class BreakerTest {
  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final StoreException TIMEOUT =
      new StoreException(
          FailureReason.TIMEOUT, "Redis at db:6379 did not answer within 100 ms", null);
  private static final StoreException DISCONNECTED =
      new StoreException(FailureReason.DISCONNECTED, "Redis at db:6379 is not connected", null);

  private final RecordedLog log = RecordedLog.ofInfo(BreakerTest.class);

  /** Near the largest long: nanoseconds may start anywhere, and overflow. */
  private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 5);

  private final List<String> heard = new ArrayList<>();
  private final NodeListener listener =
      new NodeListener() {
        @Override
        public void lost(String node, StoreException why) {
          heard.add("lost " + why.reason());
        }

        @Override
        public void back(String node) {
          heard.add("back");
        }
      };
  private double random = 0.5;
  private final Breaker breaker =
      new Breaker(
          new NodeBreakers.BreakerLog(log.logger(), "Redis at db:6379", List.of(listener)),
          nanos::get,
          () -> random);

  @AfterEach
  void stopListening() {
    log.close();
  }

  static Stream<Arguments> calls() {
    return Stream.of(
        arguments("four failures in a row", "f".repeat(4), false),
        arguments("five failures in a row", "f".repeat(5), true),
        arguments("an answer between eight failures", "ffffaffff", false),
        arguments("five failures, an hour apart", "hf".repeat(5), true),
        arguments("half of 18 within a second", "af".repeat(9), false),
        arguments("9 of 19 within a second", "af".repeat(9) + "a", false),
        arguments("half of 20 within a second", "af".repeat(10), true),
        arguments("10 of 19, which are too few", "fa".repeat(9) + "f", false),
        arguments("fewer than half", "a".repeat(400) + "ffffaaaaa".repeat(99), false),
        arguments("half of 20 within two seconds", "af".repeat(9) + "saf", false),
        arguments("a failure after a flood of answers", "a".repeat(2_000_000) + "f", false),
        arguments("calls that are undecided", "u".repeat(100), false));
  }

  /** A call is answered, fails, or is undecided; a second or an hour passes. */
  @ParameterizedTest(name = "{0}: open {2}")
  @MethodSource("calls")
  void itOpensAfterFiveFailuresInARowOrHalfOfTwentyCallsWithinASecond(
      String name, String calls, boolean open) {
    for (char call : calls.toCharArray()) {
      switch (call) {
        case 'a' -> answer(1);
        case 'f' -> fail(1);
        case 'u' -> breaker.admit().undecided();
        case 's' -> advance(SECOND);
        default -> advance(Duration.ofHours(1));
      }
    }
    assertThat(breaker.isLost()).isEqualTo(open);
  }

  @Test
  void noCallIsLostWhereThreadsCountTogether() {
    Breaker.Closed window = breaker.new Closed(0);
    long tenth = Duration.ofMillis(100).toNanos();
    IntStream.range(0, 40_000).parallel().forEach(i -> window.count(i % 10 * tenth, i % 2 == 0));
    assertThat(window.calls(10 * tenth - 1)).isEqualTo(40_000);
    assertThat(window.failures(10 * tenth - 1)).isEqualTo(20_000);
  }

  @ParameterizedTest
  @CsvSource({"0,800", "0.5,1000", "1,1200"})
  void itStaysOpenForASecondMoreOrLessByAFifth(double drawn, int millis) {
    random = drawn;
    fail(5);
    advance(Duration.ofMillis(millis).minusNanos(1));
    assertThat(breaker.admit()).isNull();
    advance(Duration.ofNanos(1));
    assertThat(breaker.admit()).isNotNull();
  }

  @Test
  void oneProbeGoesAndItsAnswerCloses() {
    fail(5);
    advance(SECOND);
    List<Period> admitted =
        Stream.generate(breaker::admit).limit(1_000).filter(Objects::nonNull).toList();
    assertThat(admitted).hasSize(1);
    assertThat(breaker.isLost()).isTrue();

    admitted.get(0).answered();
    assertThat(breaker.isLost()).isFalse();
    fail(4);
    assertThat(breaker.isLost()).as("after less than a new row").isFalse();
  }

  @Test
  void ifTheProbeFailsTheNextGoesASecondAfterIt() {
    fail(5);
    advance(SECOND);
    Period probe = breaker.admit();
    advance(Duration.ofMillis(100));
    probe.failed(TIMEOUT);

    advance(Duration.ofMillis(900).minusNanos(1));
    assertThat(breaker.admit()).isNull();
    advance(Duration.ofNanos(1));
    assertThat(breaker.admit()).isNotNull();
  }

  @Test
  void aProbeThatIsUndecidedIsLeftToTheNextCall() {
    fail(5);
    advance(SECOND);
    breaker.admit().undecided();
    breaker.admit().undecided();
    breaker.admit().answered();
    assertThat(breaker.isLost()).isFalse();
  }

  @Test
  void aProbeWhoseEndIsNeverReportedDoesNotKeepItOpenForever() {
    fail(5);
    advance(SECOND);
    assertThat(breaker.admit()).isNotNull();
    advance(SECOND);
    assertThat(breaker.admit()).isNotNull();
  }

  /** Those that must not be late: an answer closes it, and nothing else changes. */
  @Test
  void callsThatPassItCloseItByAnAnswerAlone() {
    fail(5);
    Period failing = breaker.pass();
    failing.failed(TIMEOUT);
    failing.undecided();
    failing.unconnected(DISCONNECTED);
    assertThat(breaker.admit()).as("no earlier probe").isNull();
    advance(SECOND);
    assertThat(breaker.admit()).as("nor a later one").isNotNull();
    assertThat(breaker.admit()).isNull();

    breaker.pass().answered();
    Period closed = breaker.admit();
    assertThat(closed).isNotNull().isSameAs(breaker.pass());
    assertThat(breaker.isLost()).isFalse();
  }

  @Test
  void callsBegunBeforeItOpenedDoNotCloseIt() {
    Period before = breaker.admit();
    fail(5);
    before.answered();
    assertThat(breaker.isLost()).isTrue();
    advance(SECOND);
    assertThat(breaker.admit()).isNotNull();
    before.answered();
    assertThat(breaker.isLost()).isTrue();
    assertThat(heard).containsExactly("lost TIMEOUT");
  }

  @Test
  void callsBegunBeforeItOpenedDoNotOpenItAgain() {
    Period before = breaker.admit();
    fail(5);
    advance(SECOND);
    breaker.admit().answered();
    for (int i = 0; i < 100; i++) {
      before.failed(TIMEOUT);
    }
    assertThat(breaker.isLost()).isFalse();
  }

  @Test
  void aLateProbeOfAnEarlierOutageDoesNotCloseALaterOne() {
    fail(5);
    advance(SECOND);
    Period slow = breaker.admit();
    advance(SECOND);
    breaker.admit().answered();
    fail(5);
    slow.answered();
    assertThat(breaker.isLost()).isTrue();
  }

  @Test
  void aRejectedCallGetsTheTimeOfTheNextProbe() {
    fail(5);
    advance(Duration.ofMillis(300));
    StoreException rejection = breaker.rejection();
    assertThat(rejection.reason()).isEqualTo(FailureReason.BREAKER_OPEN);
    assertThat(rejection).hasMessage("Redis at db:6379 failed recently, so the call was not sent");
    assertThat(rejection.retryAfter()).contains(Duration.ofMillis(700));
  }

  @Test
  void aLongOutageIsOneLineAndItsEndAnother() {
    fail(5);
    for (int i = 0; i < 59; i++) {
      advance(SECOND);
      fail(1);
    }
    assertThat(log.messages()).hasSize(1);
    assertThat(heard).containsExactly("lost TIMEOUT");

    advance(SECOND);
    answer(2);
    assertThat(log.messages())
        .containsExactly(
            "Redis at db:6379 has failed, so its circuit breaker is open: 5 calls in a row failed, the last with TIMEOUT (Redis at db:6379 did not answer within 100 ms). A probe is sent about once a second. Openings since the last message: 1",
            "Redis at db:6379 has answered a probe after 60 s: its circuit breaker is closed");
    assertThat(heard).containsExactly("lost TIMEOUT", "back");
  }

  @Test
  void aRateOfFailuresIsLoggedAsSuch() {
    for (int i = 0; i < 10; i++) {
      answer(1);
      fail(1);
    }
    assertThat(log.messages())
        .singleElement()
        .asString()
        .contains("10 of 20 calls within a second failed");
  }

  @Test
  void aFlappingRedisIsLoggedOnceASecondAtMostAndTheLastMessageIsTrue() {
    random = 0;
    for (int i = 0; i < 100; i++) { // for 81 s
      fail(5);
      advance(Duration.ofMillis(800));
      answer(1);
      advance(Duration.ofMillis(10));
    }
    assertThat(log.messages())
        .hasSizeBetween(40, 81)
        .last()
        .asString()
        .endsWith("breaker is closed");
    fail(5);
    for (int i = 0; i < 3; i++) {
      advance(Duration.ofMillis(800));
      fail(1);
    }
    assertThat(log.messages()).last().asString().startsWith("Redis at db:6379 has failed");
  }

  @Test
  void theWantOfAConnectionIsALossThatEndsWithAnAnswer() {
    findNoConnection(4);
    answer(1);
    findNoConnection(4);
    assertThat(heard).as("not in a row").isEmpty();
    assertThat(breaker.isLost()).isFalse();

    findNoConnection(8);
    assertThat(heard).containsExactly("lost DISCONNECTED");
    assertThat(breaker.isLost()).isTrue();
    advance(Duration.ofSeconds(7));
    answer(2);
    assertThat(heard).containsExactly("lost DISCONNECTED", "back");
    assertThat(breaker.isLost()).isFalse();
    assertThat(log.messages())
        .containsExactly(
            "Redis at db:6379 is away: 5 calls in a row found no connection. The fallback decides until it is connected again",
            "Redis at db:6379 decides again, after 7 s");
  }

  @Test
  void aLostNodeWhoseBreakerOpensIsLostOnce() {
    findNoConnection(5);
    fail(5);
    assertThat(heard).containsExactly("lost DISCONNECTED");
    advance(SECOND.multipliedBy(2));
    findNoConnection(1);
    answer(1);
    assertThat(heard).containsExactly("lost DISCONNECTED", "back");
  }

  @Test
  void aConnectionThatComesAndGoesIsLoggedOnceASecondAtMost() {
    for (int i = 0; i < 200; i++) { // for 100 s
      findNoConnection(5);
      advance(Duration.ofMillis(500));
      answer(1);
    }
    assertThat(log.messages()).hasSizeBetween(50, 100).last().asString().contains("decides again");
  }

  private void advance(Duration time) {
    nanos.addAndGet(time.toNanos());
  }

  private void fail(int calls) {
    for (int i = 0; i < calls; i++) {
      breaker.admit().failed(TIMEOUT);
    }
  }

  private void findNoConnection(int calls) {
    for (int i = 0; i < calls; i++) {
      breaker.admit().unconnected(DISCONNECTED);
    }
  }

  private void answer(int calls) {
    for (int i = 0; i < calls; i++) {
      breaker.admit().answered();
    }
  }
}
