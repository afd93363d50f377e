// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.limiter.core.redis.RedisHealth.NodeListener;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.slf4j.helpers.NOPLogger;

/** A listener receives the loss of a node and its return, once each, whatever the loss is. */
class NodeListenerTest {

  private static final StoreException TIMEOUT =
      new StoreException(FailureReason.TIMEOUT, "late", null);
  private static final StoreException DISCONNECTED =
      new StoreException(FailureReason.DISCONNECTED, "gone", null);

  private final List<String> heard = new ArrayList<>();
  private final AtomicLong nanos = new AtomicLong();
  private final NodeListener listener =
      new NodeListener() {
        @Override
        public void lost(String node, StoreException why) {
          heard.add("lost " + node + " " + why.reason());
        }

        @Override
        public void back(String node) {
          heard.add("back " + node);
        }
      };
  private final Breaker breaker =
      new Breaker(
          new NodeBreakers.BreakerLog(NOPLogger.NOP_LOGGER, "db", List.of(listener)),
          nanos::get,
          () -> 0.5);

  private Breaker.Period period() {
    return Objects.requireNonNull(breaker.admit());
  }

  private void fail(int calls) {
    for (int i = 0; i < calls; i++) {
      period().failed(TIMEOUT);
    }
  }

  private void findNoConnection(int calls) {
    for (int i = 0; i < calls; i++) {
      period().unconnected(DISCONNECTED);
    }
  }

  @Test
  void aBreakerThatOpensIsALossUntilAProbeIsAnswered() {
    fail(Breaker.IN_A_ROW - 1);
    assertThat(heard).isEmpty();
    fail(1);
    assertThat(heard).containsExactly("lost db TIMEOUT");

    nanos.addAndGet(Duration.ofSeconds(2).toNanos());
    period().failed(TIMEOUT);
    assertThat(heard).as("still lost").hasSize(1);

    nanos.addAndGet(Duration.ofSeconds(2).toNanos());
    period().answered();
    assertThat(heard).containsExactly("lost db TIMEOUT", "back db");
    period().answered();
    assertThat(heard).hasSize(2);
  }

  @Test
  void callsWithoutAConnectionAreALossUntilOneIsAnswered() {
    findNoConnection(Breaker.IN_A_ROW - 1);
    period().answered();
    findNoConnection(Breaker.IN_A_ROW - 1);
    assertThat(heard).as("not in a row").isEmpty();

    findNoConnection(3);
    assertThat(heard).containsExactly("lost db DISCONNECTED");
    period().answered();
    assertThat(heard).containsExactly("lost db DISCONNECTED", "back db");

    findNoConnection(Breaker.IN_A_ROW);
    assertThat(heard).containsExactly("lost db DISCONNECTED", "back db", "lost db DISCONNECTED");
  }

  @Test
  void aLostNodeWhoseBreakerOpensIsLostOnce() {
    findNoConnection(Breaker.IN_A_ROW);
    fail(Breaker.IN_A_ROW);
    assertThat(heard).containsExactly("lost db DISCONNECTED");

    nanos.addAndGet(Duration.ofSeconds(2).toNanos());
    period().unconnected(DISCONNECTED);
    period().answered();

    assertThat(heard).containsExactly("lost db DISCONNECTED", "back db");
  }

  @Test
  void anAnswerOfTheTimeBeforeTheLossIsNoReturn() {
    Breaker.Period before = period();
    fail(Breaker.IN_A_ROW);

    before.answered();

    assertThat(heard).containsExactly("lost db TIMEOUT");
  }
}
