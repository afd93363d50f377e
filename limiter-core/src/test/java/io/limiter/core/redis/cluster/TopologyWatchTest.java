// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.util.concurrent.DefaultEventExecutorGroup;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** How often the map of slots is looked up. */
class TopologyWatchTest {

  private final DefaultEventExecutorGroup executor = new DefaultEventExecutorGroup(1);
  private final List<Long> looks = new CopyOnWriteArrayList<>();
  private volatile CompletableFuture<Boolean> well = CompletableFuture.completedFuture(true);
  private final TopologyWatch watch =
      new TopologyWatch(
          executor,
          () -> {
            looks.add(System.nanoTime());
            return well;
          });

  @AfterEach
  void close() {
    watch.close();
    executor.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }

  @Test
  void requestedLookupsHappenTwiceASecondAtMost() {
    watch.start();
    await().until(() -> looks.size() == 1);
    long began = System.nanoTime();
    while (looks.size() < 3) {
      watch.soon();
      Thread.onSpinWait();
    }

    assertThat(gap(0)).isGreaterThanOrEqualTo(Duration.ofMillis(500));
    assertThat(gap(1)).isGreaterThanOrEqualTo(Duration.ofMillis(500));
    assertThat(Duration.ofNanos(System.nanoTime() - began)).isLessThan(Duration.ofSeconds(5));
  }

  @Test
  void anUnhealthyClusterIsLookedUpAgainByItself() {
    well = CompletableFuture.completedFuture(false);
    watch.start();

    await().atMost(Duration.ofSeconds(5)).until(() -> looks.size() == 2);
  }

  /** Its result may be older than the event. */
  @Test
  void anEventDuringALookupCausesAnother() {
    well = new CompletableFuture<>();
    watch.start();
    await().until(() -> looks.size() == 1);
    watch.soon();
    well.complete(true);

    await().atMost(Duration.ofSeconds(4)).until(() -> looks.size() == 2);
  }

  @Test
  void aHealthyClusterIsLookedUpAfterAWhile() {
    watch.start();

    await()
        .during(Duration.ofMillis(900))
        .atMost(Duration.ofSeconds(4))
        .until(() -> looks.size() <= 1);
  }

  @Test
  void afterTheCloseThereAreNoMoreLookups() {
    well = CompletableFuture.completedFuture(false);
    watch.start();
    await().until(() -> looks.size() == 1);
    watch.close();
    watch.soon();

    await()
        .during(Duration.ofMillis(900))
        .atMost(Duration.ofSeconds(4))
        .until(() -> looks.size() == 1);
  }

  private Duration gap(int first) {
    return Duration.ofNanos(looks.get(first + 1) - looks.get(first));
  }
}
