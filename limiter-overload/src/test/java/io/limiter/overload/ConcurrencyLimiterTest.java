// SPDX-License-Identifier: Apache-2.0
package io.limiter.overload;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.limiter.overload.ConcurrencyLimiter.Permit;
import io.limiter.overload.ConcurrencyLimiter.Setup;
import io.limiter.overload.ConcurrencyLimiter.Waiting;
import io.limiter.overload.Criticality.Level;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** The queue, with a clock and a timer that the test drives. */
class ConcurrencyLimiterTest {

  private static final long MILLI = 1_000_000;

  /** A task of the timer. */
  private record Due(long at, Runnable task) {}

  private final AtomicLong now = new AtomicLong();
  private final PriorityQueue<Due> timer = new PriorityQueue<>(Comparator.comparingLong(Due::at));
  private final List<Boolean> states = new ArrayList<>();
  private final List<String> ended = new ArrayList<>();
  private final AtomicInteger limit = new AtomicInteger(2);

  private ConcurrencyLimiter limiter(int maxWaiting, boolean observes) {
    return new ConcurrencyLimiter(
        new Fixed(limit),
        new Setup(20 * MILLI, maxWaiting, observes),
        now::get,
        (task, nanos) -> timer.add(new Due(now.get() + nanos, task)),
        states::add);
  }

  /** A limit that the test sets. */
  private record Fixed(AtomicInteger limit) implements InFlightLimit {
    @Override
    public int now() {
      return limit.get();
    }

    @Override
    public int begun(long nanos) {
      return 0;
    }

    @Override
    public void full() {}

    @Override
    public void ended(int epoch, long latency, int inFlight, long nanos) {}
  }

  private void pass(long millis) {
    long until = now.get() + millis * MILLI;
    while (!timer.isEmpty() && timer.peek().at() <= until) {
      Due next = timer.poll();
      now.set(Math.max(now.get(), next.at()));
      next.task().run();
    }
    now.set(until);
  }

  private Permit begin(ConcurrencyLimiter limiter) {
    return Objects.requireNonNull(limiter.tryBegin(Level.NORMAL));
  }

  private Waiting await(ConcurrencyLimiter limiter, Level level, int caller, String name) {
    return limiter.await(
        level, caller, permit -> ended.add(name + (permit == null ? " rejected" : " begins")));
  }

  @Test
  void aFreePlaceGoesToTheMostCriticalAndAmongEqualsToTheOneThatWaitsLongest() {
    ConcurrencyLimiter limiter = limiter(10, false);
    List<Permit> held = List.of(begin(limiter), begin(limiter));
    await(limiter, Level.LOW, 1, "low");
    await(limiter, Level.NORMAL, 1, "first");
    await(limiter, Level.NORMAL, 1, "second");
    limit.set(1);
    held.get(0).end();
    assertThat(ended).as("the limit is lower now").isEmpty();
    held.get(1).end();
    assertThat(ended).containsExactly("first begins");
    limit.set(3);
    begin(limiter).end();
    assertThat(ended).containsExactly("first begins", "second begins");
    assertThat(limiter.inFlight()).isEqualTo(2);
    assertThat(limiter.waiting()).isEqualTo(1);
  }

  @Test
  void aCallIsRejectedAfterItsTime() {
    ConcurrencyLimiter limiter = limiter(10, false);
    Permit held = begin(limiter);
    begin(limiter);
    await(limiter, Level.NORMAL, 1, "one");
    pass(15);
    await(limiter, Level.NORMAL, 2, "two");
    pass(6);
    assertThat(ended).containsExactly("one rejected");
    held.end();
    assertThat(ended).containsExactly("one rejected", "two begins");
    assertThat(limiter.shed(Level.NORMAL)).isEqualTo(1);
    assertThat(limiter.waiting()).isZero();
  }

  @Test
  void aCallThatLeavesIsToldNothingAndFreesItsPlace() {
    ConcurrencyLimiter limiter = limiter(1, false);
    Permit held = begin(limiter);
    begin(limiter);
    Waiting leaver = await(limiter, Level.NORMAL, 1, "leaver");
    assertThat(leaver.leave()).isTrue();
    assertThat(leaver.leave()).isFalse();
    await(limiter, Level.NORMAL, 1, "next");
    held.end();
    pass(100);
    assertThat(ended).containsExactly("next begins");
    assertThat(limiter.shed(Level.NORMAL)).isZero();
  }

  @Test
  void inAFullQueueTheLeastCriticalLosesItsPlace() {
    ConcurrencyLimiter limiter = limiter(2, false);
    begin(limiter);
    begin(limiter);
    await(limiter, Level.BACKGROUND, 1, "background");
    await(limiter, Level.LOW, 1, "low");
    await(limiter, Level.CRITICAL, 1, "critical"); // there is room for it, but it asks for none
    assertThat(ended).containsExactly("background rejected", "critical begins");
    await(limiter, Level.NORMAL, 1, "normal");
    await(limiter, Level.BACKGROUND, 1, "late");
    assertThat(ended).containsExactly("background rejected", "critical begins", "late rejected");
    assertThat(limiter.waiting()).isEqualTo(2);
  }

  @Test
  void withinTenSecondsTheSameCallersWaitInVain() {
    limit.set(1);
    ConcurrencyLimiter limiter = limiter(1_000, false);
    Set<Integer> first = servedFirst(limiter);
    assertThat(servedFirst(limiter)).isEqualTo(first);
    pass(10_000);
    assertThat(servedFirst(limiter)).isNotEqualTo(first);
    Set<Integer> ever = new HashSet<>();
    for (int turn = 0; turn < 2 * ConcurrencyLimiter.COHORTS; turn++) {
      ever.addAll(servedFirst(limiter));
      pass(10_000);
    }
    assertThat(ever).as("each is in turn once").hasSize(100);
  }

  /** Of a hundred callers, those who begin while ten places become free one after another. */
  private Set<Integer> servedFirst(ConcurrencyLimiter limiter) {
    Set<Integer> served = new HashSet<>();
    List<Permit> permits = new ArrayList<>();
    permits.add(begin(limiter));
    for (int caller = 0; caller < 100; caller++) {
      int name = caller;
      var unused =
          limiter.await(
              Level.NORMAL,
              Integer.toString(name).hashCode(),
              permit -> {
                if (permit != null) {
                  served.add(name);
                  permits.add(permit);
                }
              });
    }
    for (int i = 0; i < 10; i++) {
      permits.get(i).end();
    }
    pass(25);
    permits.get(permits.size() - 1).end();
    return served;
  }

  /** What a call that waits, and is rejected, allocates, on this thread. */
  private static double allocated(int waiting) {
    ConcurrencyLimiter limiter =
        new ConcurrencyLimiter(
            new Fixed(new AtomicInteger(1)),
            new Setup(20 * MILLI, waiting, false),
            () -> 0,
            (task, nanos) -> {},
            state -> {});
    Objects.requireNonNull(limiter.tryBegin(Level.NORMAL));
    for (int i = 0; i < waiting; i++) {
      limiter.await(Level.HIGH, i, permit -> {});
    }
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    int calls = 20_000;
    double least = Double.MAX_VALUE;
    for (int round = 0; round < 5; round++) { // code that is compiled meanwhile allocates less
      long before = threads.getCurrentThreadAllocatedBytes();
      for (int i = 0; i < calls; i++) {
        limiter.await(Level.NORMAL, i, permit -> {}); // finds the queue full
        Waiting better = limiter.await(Level.CRITICAL, i, permit -> {}); // takes a place
        better.leave();
        limiter.await(Level.HIGH, i, permit -> {}); // the place is as before
      }
      least = Math.min(least, (double) (threads.getCurrentThreadAllocatedBytes() - before) / calls);
    }
    assertThat(limiter.waiting()).isEqualTo(waiting);
    return least;
  }

  @Test
  void whatACallAllocatesDoesNotGrowWithTheQueue() {
    double few = allocated(10);

    assertThat(few).isLessThan(1_000);
    assertThat(allocated(1_000)).isLessThan(1.2 * few);
  }

  @Test
  void theLimitHearsHowLateTheProcessIs() {
    List<Long> late = new ArrayList<>();
    InFlightLimit hears =
        new InFlightLimit() {
          @Override
          public int now() {
            return 1;
          }

          @Override
          public int begun(long nanos) {
            return 0;
          }

          @Override
          public void full() {}

          @Override
          public void ended(int epoch, long latency, int inFlight, long nanos) {}

          @Override
          public void late(long nanos) {
            late.add(nanos / MILLI);
          }
        };
    ConcurrencyLimiter limiter =
        new ConcurrencyLimiter(
            hears,
            new Setup(0, 0, false),
            now::get,
            (task, nanos) -> timer.add(new Due(now.get() + nanos, task)),
            states::add);
    limiter.watch(due -> due);
    limiter.watch(due -> due); // one in 10 ms
    pass(10);
    assertThat(late).containsExactly(0L);
    limiter.watch(due -> due);
    now.addAndGet(35 * MILLI); // the timer stands still
    pass(0);
    assertThat(late).containsExactly(0L, 25L);
  }

  @Test
  void aPermitEndsOnce() {
    ConcurrencyLimiter limiter = limiter(0, false);
    Permit one = begin(limiter);
    begin(limiter);
    one.end();
    one.end();
    one.sample();
    assertThat(limiter.inFlight()).isEqualTo(1);
  }

  @Test
  void anObserverCountsAndRejectsNothing() {
    ConcurrencyLimiter limiter = limiter(0, true);
    for (int i = 0; i < 5; i++) {
      begin(limiter);
    }
    assertThat(limiter.inFlight()).isEqualTo(5);
    assertThat(limiter.shed(Level.NORMAL)).isEqualTo(3);
    assertThat(states).containsExactly(true);
  }

  @Test
  void aStateBeginsWithTheFirstRejectionAndEndsTenSecondsAfterTheLast() {
    ConcurrencyLimiter limiter = limiter(0, false);
    begin(limiter);
    begin(limiter);
    await(limiter, Level.NORMAL, 1, "one");
    pass(9_000);
    await(limiter, Level.NORMAL, 1, "two");
    pass(9_000);
    assertThat(states).containsExactly(true);
    assertThat(limiter.isOverloaded()).isTrue();
    pass(2_000);
    assertThat(states).containsExactly(true, false);
    await(limiter, Level.NORMAL, 1, "three");
    assertThat(states).containsExactly(true, false, true);
  }

  /** Threads that begin, wait, leave and end at random lose no place and no call. */
  @Test
  void noPlaceIsLostAmongManyThreads() throws Exception {
    limit.set(4);
    AtomicInteger most = new AtomicInteger();
    AtomicInteger inside = new AtomicInteger();
    AtomicInteger answers = new AtomicInteger();
    int threads = 8;
    int calls = 20_000;
    ConcurrencyLimiter limiter =
        new ConcurrencyLimiter(
            new Fixed(limit),
            new Setup(TimeUnit.HOURS.toNanos(1), 100, false),
            System::nanoTime,
            (task, nanos) -> {},
            state -> {});
    CountDownLatch done = new CountDownLatch(threads);
    for (int t = 0; t < threads; t++) {
      new Thread(
              () -> {
                for (int i = 0; i < calls; i++) {
                  Level level =
                      Level.values()[2 + ThreadLocalRandom.current().nextInt(3)]; // up to the limit
                  Permit permit = limiter.tryBegin(level);
                  if (permit != null) {
                    run(permit, inside, most);
                    answers.incrementAndGet();
                    continue;
                  }
                  Waiting waiting =
                      limiter.await(
                          level,
                          i,
                          turn -> {
                            answers.incrementAndGet();
                            if (turn != null) {
                              run(turn, inside, most);
                            }
                          });
                  if (i % 3 == 0 && waiting.leave()) {
                    answers.incrementAndGet();
                  }
                }
                done.countDown();
              })
          .start();
    }
    assertThat(done.await(30, TimeUnit.SECONDS)).isTrue();
    assertThat(limiter.inFlight()).isZero();
    assertThat(limiter.waiting()).isZero();
    assertThat(answers).hasValue(threads * calls);
    assertThat(most.get()).isLessThanOrEqualTo(4);
  }

  private static void run(Permit permit, AtomicInteger inside, AtomicInteger most) {
    int now = inside.incrementAndGet();
    most.accumulateAndGet(now, Math::max);
    if ((now & 3) == 0) {
      Thread.yield();
    }
    inside.decrementAndGet();
    permit.end();
  }
}
