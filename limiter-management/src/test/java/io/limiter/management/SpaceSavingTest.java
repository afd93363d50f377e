// SPDX-License-Identifier: Apache-2.0
package io.limiter.management;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.testing.Seeds;
import io.limiter.management.SpaceSaving.Estimate;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The bounds of the estimates, whatever the order of the keys, and under concurrency. */
class SpaceSavingTest {

  private static void count(SpaceSaving<String> counts, String key) {
    if (!counts.hit(key)) {
      counts.miss(key, key);
    }
  }

  private static void assertBounds(
      SpaceSaving<String> counts, int capacity, Map<String, Long> truth) {
    List<Estimate<String>> top = counts.top();
    Map<String, Estimate<String>> byKey =
        top.stream().collect(Collectors.toMap(Estimate::value, one -> one));
    long all = truth.values().stream().mapToLong(times -> times).sum();
    assertThat(top).hasSizeLessThanOrEqualTo(capacity);
    assertThat(top.stream().mapToLong(Estimate::count).sum() + counts.skipped()).isEqualTo(all);
    for (Estimate<String> one : top) {
      long times = truth.get(one.value());
      assertThat(one.count() - one.error()).as(one.value()).isLessThanOrEqualTo(times);
      assertThat(times).as(one.value()).isLessThanOrEqualTo(one.count() + counts.skipped());
    }
    truth.forEach(
        (key, times) -> {
          if (times > all / capacity + counts.skipped()) {
            assertThat(byKey).as("%d of %d", times, all).containsKey(key);
          }
        });
    for (int i = 1; i < top.size(); i++) {
      assertThat(top.get(i).count()).isLessThanOrEqualTo(top.get(i - 1).count());
    }
  }

  @Test
  void anEstimateIsWithinItsErrorAndWhoIsFrequentIsFound() {
    long unused =
        Seeds.forEach(
            400,
            seed -> {
              Random random = new Random(seed);
              int capacity = 1 + random.nextInt(100);
              int keys = 1 + random.nextInt(1_000);
              double skew = 1 + 5 * random.nextDouble();
              SpaceSaving<String> counts = new SpaceSaving<>(capacity);
              Map<String, Long> truth = new HashMap<>();
              for (int i = 0; i < 5_000; i++) {
                String key = "k" + (int) (keys * Math.pow(random.nextDouble(), skew));
                count(counts, key);
                truth.merge(key, 1L, Long::sum);
              }
              assertThat(counts.skipped()).isZero();
              assertBounds(counts, capacity, truth);
              return 5_000;
            });
  }

  /** Keys that never come twice, between those that do: the least counter is always another. */
  @Test
  void aFloodOfNewKeysDoesNotHideTheFrequentOnes() {
    SpaceSaving<String> counts = new SpaceSaving<>(100);
    Map<String, Long> truth = new HashMap<>();
    for (int i = 0; i < 100_000; i++) {
      String key = i % 20 == 0 ? "often-" + i / 20 % 3 : "once-" + i;
      count(counts, key);
      truth.merge(key, 1L, Long::sum);
    }
    assertBounds(counts, 100, truth);
    assertThat(counts.top().subList(0, 3))
        .extracting(Estimate::value)
        .containsExactlyInAnyOrder("often-0", "often-1", "often-2");
  }

  @Test
  void withFewKeysAllIsExact() {
    SpaceSaving<String> counts = new SpaceSaving<>(3);
    for (String key : List.of("a", "b", "a", "c", "a", "b")) {
      count(counts, key);
    }
    assertThat(counts.top())
        .containsExactly(
            new Estimate<>("a", 3, 0), new Estimate<>("b", 2, 0), new Estimate<>("c", 1, 0));

    counts.clear();

    assertThat(counts.top()).isEmpty();
    count(counts, "a");
    assertThat(counts.top()).containsExactly(new Estimate<>("a", 1, 0));
  }

  @ParameterizedTest
  @ValueSource(ints = {5, 100, 2_000})
  void manyThreadsAtOnceKeepTheBounds(int keys) throws Exception {
    int threads = 8;
    int each = 50_000;
    SpaceSaving<String> counts = new SpaceSaving<>(100);
    AtomicLongArray truth = new AtomicLongArray(keys);
    ExecutorService pool = Executors.newFixedThreadPool(threads + 1);
    try {
      CountDownLatch start = new CountDownLatch(1);
      List<Future<?>> all = new ArrayList<>();
      for (int t = 0; t < threads; t++) {
        Random random = new Random(t);
        all.add(
            pool.submit(
                () -> {
                  start.await();
                  for (int i = 0; i < each; i++) {
                    int key = (int) (keys * Math.pow(random.nextDouble(), 3));
                    count(counts, "k" + key);
                    truth.incrementAndGet(key);
                  }
                  return null;
                }));
      }
      Future<Integer> reader = pool.submit(() -> read(counts, start, threads * each));
      for (Future<?> one : all) {
        one.get();
      }
      assertThat(reader.get()).isPositive();
    } finally {
      pool.shutdownNow();
    }
    Map<String, Long> times = new HashMap<>();
    for (int key = 0; key < keys; key++) {
      times.put("k" + key, truth.get(key));
    }
    assertBounds(counts, 100, times);
  }

  /** Reads while others count; begins the others. */
  private static int read(SpaceSaving<String> counts, CountDownLatch start, long most) {
    start.countDown();
    int reads = 0;
    for (; reads < 200; reads++) {
      long seen = counts.top().stream().mapToLong(Estimate::count).sum();
      assertThat(seen).isBetween(0L, most);
    }
    return reads;
  }

  private static void awaitUninterruptibly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void countingNeverWaitsForAReader() throws Exception {
    SpaceSaving<String> counts = new SpaceSaving<>(2);
    ExecutorService pool = Executors.newSingleThreadExecutor();
    try {
      CountDownLatch reading = new CountDownLatch(1);
      CountDownLatch go = new CountDownLatch(1);
      Future<?> reader =
          pool.submit(
              () ->
                  counts.locked(
                      () -> {
                        reading.countDown();
                        awaitUninterruptibly(go);
                        return "read";
                      }));
      reading.await();
      for (int i = 0; i < 10; i++) {
        count(counts, "new-" + i % 7);
      }
      assertThat(counts.skipped()).isEqualTo(10);
      go.countDown();
      reader.get();
    } finally {
      pool.shutdownNow();
    }
    assertThat(counts.top()).isEmpty();
  }
}
