// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.thread;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Replaces;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Where calls go on that were made on no event loop. */
class ContinuationsTest {

  private static final String SPEC = "ContinuationsTest";
  private static final int PATIENCE_SECONDS = 20;

  @Singleton
  @Replaces(Continuations.class)
  @Requires(property = "spec.name", value = SPEC)
  static class OfTheApplication implements Continuations {
    @Override
    public void run(Runnable continuation) {
      Thread thread = new Thread(continuation, "of-the-application");
      thread.setDaemon(true);
      thread.start();
    }
  }

  @Test
  void theApplicationMayRunThem() throws Exception {
    try (ApplicationContext context = Starts.inMemory(SPEC)) {
      CompletableFuture<String> decision = new CompletableFuture<>();
      CompletableFuture<String> thread =
          context
              .getBean(CallerThreads.class)
              .resume(decision, Optional.empty())
              .thenApply(decided -> Thread.currentThread().getName());
      decision.complete("decided");

      assertThat(thread.get(PATIENCE_SECONDS, TimeUnit.SECONDS)).isEqualTo("of-the-application");
    }
  }

  @Test
  void asManyRunAsWait() throws Exception {
    ContinuationThreads threads = new ContinuationThreads();
    int all = 300;
    CountDownLatch running = new CountDownLatch(all);
    for (int i = 0; i < all; i++) {
      threads.run(
          () -> {
            running.countDown();
            try {
              running.await();
            } catch (InterruptedException e) {
              Thread.currentThread().interrupt();
            }
          });
    }

    assertThat(running.await(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
    threads.close();
  }

  @Test
  void aThousandOneAfterAnotherNeedFewThreads() throws Exception {
    ContinuationThreads threads = new ContinuationThreads();
    Set<String> names = new HashSet<>();
    for (int i = 0; i < 1_000; i++) {
      CompletableFuture<Thread> ran = new CompletableFuture<>();
      threads.run(() -> ran.complete(Thread.currentThread()));
      Thread thread = ran.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
      names.add(thread.getName());
      assertThat(thread.isDaemon()).isTrue();
    }

    assertThat(names).allMatch(name -> name.startsWith("limiter-call-"));
    if (Runtime.version().feature() < 24) {
      assertThat(names).hasSizeLessThan(100); // one may not be back yet when the next is wanted
    }
    threads.close();
  }

  @Test
  void aTaskAfterTheEndStillRuns() throws Exception {
    ContinuationThreads threads = new ContinuationThreads();
    threads.close();
    CompletableFuture<Boolean> ran = new CompletableFuture<>();
    threads.run(() -> ran.complete(true));

    assertThat(ran.get(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
  }
}
