// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What is excused, and what is not. */
class PausesTest {

  private static final Duration TIME = Duration.ofMillis(600);

  @BeforeEach
  void watch() {
    Pauses.watch();
  }

  /** As a call that waits for what does not come. */
  @Test
  void aWaitIsNotExcused() throws InterruptedException {
    long begun = System.nanoTime();
    Thread.sleep(TIME.toMillis());

    assertThat(Pauses.without(begun, System.nanoTime())).isGreaterThan(TIME.dividedBy(3));
  }

  @Test
  void aThreadOfACallThatHasNoCoreIsExcused() throws InterruptedException {
    assumeThat(Files.exists(Path.of("/proc/thread-self/schedstat"))).as("Linux").isTrue();
    int crowd = 8 * Runtime.getRuntime().availableProcessors();
    long begun = System.nanoTime();
    List<Thread> threads =
        Stream.generate(() -> new Thread(() -> spin(begun), "load")).limit(crowd).toList();
    threads.forEach(Thread::start);
    for (Thread thread : threads) {
      thread.join();
    }

    assertThat(Pauses.without(begun, begun + TIME.toNanos())).isLessThan(TIME.dividedBy(3));
  }

  private static void spin(long begun) {
    while (System.nanoTime() - begun < TIME.toNanos()) {
      Thread.onSpinWait();
    }
  }
}
