// SPDX-License-Identifier: Apache-2.0
package io.limiter.overload;

import io.limiter.overload.Criticality.Level;
import io.micronaut.core.annotation.Internal;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Counts calls in flight up to a limit. In front of it a queue is bounded in time and in number: a
 * place that gets free goes to the most critical call, within one criticality to the cohort whose
 * turn it is, and within a cohort to the call that has waited longest. Where all places of the
 * queue are taken, the call goes that is last in this order.
 *
 * <p>No thread waits: a call in the queue is one object, which learns once whether it may begin.
 * Without a queue, to begin and to end are a few atomic operations; nothing is locked.
 */
@Internal
@SuppressWarnings("EnumOrdinal") // indexes of arrays in this process
public final class ConcurrencyLimiter {

  /** The cohorts of callers in one criticality. */
  public static final int COHORTS = 16;

  /** For how long the order of cohorts stays. */
  private static final long TURN_NANOS = 10_000_000_000L;

  private static final long WATCH_NANOS = 10_000_000L;

  /** Odd, so that each cohort is at each place once in {@value #COHORTS} turns. */
  private static final int STEP = 7;

  private static final Level[] ALL = Level.values();
  private static final int LEVELS = ALL.length;
  private static final int RANKS = LEVELS * COHORTS;

  private final InFlightLimit limit;
  private final LongSupplier clock;
  private final Timer timer;
  private final long maxWait;
  private final int maxWaiting;
  private final boolean observes;

  private final AtomicInteger inFlight = new AtomicInteger();
  private final AtomicInteger waiting = new AtomicInteger();
  private final AtomicReferenceArray<@Nullable Queue<Waiting>> queues =
      new AtomicReferenceArray<>(RANKS);

  /** A bit for each queue that may have calls. */
  private final AtomicLong[] taken = {new AtomicLong(), new AtomicLong()};

  private final AtomicBoolean timed = new AtomicBoolean();
  private final AtomicLong watched = new AtomicLong();
  private final LongAdder[] shed = new LongAdder[LEVELS];
  private volatile long lastShed;
  private final AtomicBoolean sheds = new AtomicBoolean();
  private final Consumer<Boolean> states;

  /** Runs a task once, after some nanoseconds. */
  @FunctionalInterface
  @Internal
  public interface Timer {
    void schedule(Runnable task, long nanos);
  }

  /**
   * How it is set up.
   *
   * @param maxWait in nanoseconds; with 0 no call waits
   * @param maxWaiting the most calls that wait
   * @param observes whether each call begins, and those are counted that would not have
   */
  @Internal
  public record Setup(long maxWait, int maxWaiting, boolean observes) {}

  /**
   * @param clock nanoseconds, as {@link System#nanoTime}
   * @param states receives true once calls are rejected, and false once none was for ten seconds;
   *     it must not block
   */
  public ConcurrencyLimiter(
      InFlightLimit limit, Setup setup, LongSupplier clock, Timer timer, Consumer<Boolean> states) {
    this.limit = limit;
    this.clock = clock;
    watched.set(clock.getAsLong());
    this.timer = timer;
    this.states = states;
    this.maxWait = setup.maxWait();
    this.maxWaiting = setup.maxWaiting();
    this.observes = setup.observes();
    for (int i = 0; i < LEVELS; i++) {
      shed[i] = new LongAdder();
    }
    for (int i = 0; i < RANKS; i++) {
      queues.set(i, new ConcurrentLinkedQueue<>());
    }
  }

  /** A call in flight. */
  @Internal
  public final class Permit extends AtomicInteger {

    private static final long serialVersionUID = 1L;
    private static final int HELD = 0;
    private static final int SAMPLED = 1;
    private static final int OVER = 2;

    private volatile long start;
    private final int epoch;

    private Permit(long nanos) {
      super(HELD);
      this.start = nanos;
      this.epoch = limit.begun(nanos);
    }

    /** The call that has waited begins its work only now, after threads that were busy. */
    public void resumed() {
      start = clock.getAsLong();
    }

    /**
     * The call has its result, whose latency is evidence. It stays in flight. Only the first
     * observation counts.
     */
    public void sample() {
      if (get() == HELD && compareAndSet(HELD, SAMPLED)) {
        long now = clock.getAsLong();
        limit.ended(epoch, now - start, inFlight.get(), now);
      }
    }

    /**
     * The call has failed. That is evidence only if it took long: a quick failure shows no health.
     */
    public void sampleFailure() {
      if (limit.isSlow(clock.getAsLong() - start)) {
        sample();
      }
    }

    /** The call is over. Only the first time counts. */
    public void end() {
      if (getAndSet(OVER) != OVER) {
        inFlight.getAndDecrement();
        admitWaiting();
      }
    }
  }

  /** A call that waits for its turn. */
  @Internal
  public final class Waiting extends AtomicInteger {

    private static final long serialVersionUID = 1L;
    private static final int WAITS = 0;
    private static final int DECIDED = 1;

    private final Level level;
    private final long until;
    private final transient Consumer<@Nullable Permit> then;

    private Waiting(Level level, long until, Consumer<@Nullable Permit> then) {
      super(WAITS);
      this.level = level;
      this.until = until;
      this.then = then;
    }

    private boolean decide() {
      if (get() == WAITS && compareAndSet(WAITS, DECIDED)) {
        waiting.getAndDecrement();
        return true;
      }
      return false;
    }

    /** The caller is gone: its place is free, and nothing is called. False if it is too late. */
    public boolean leave() {
      return decide();
    }

    private void reject() {
      if (decide()) {
        countShed(level);
        then.accept(null);
      }
    }
  }

  /** Begins a call if there is room for it; null if it has to wait. */
  public @Nullable Permit tryBegin(Level level) {
    int room = level.room(limit.now());
    while (true) {
      int now = inFlight.get();
      if (now >= room) {
        limit.full();
        if (!observes) {
          return null;
        }
        countShed(level);
        inFlight.getAndIncrement();
        return new Permit(clock.getAsLong());
      }
      if (inFlight.compareAndSet(now, now + 1)) {
        return new Permit(clock.getAsLong());
      }
    }
  }

  /**
   * Measures, at most each 10 ms, how late this process is: by a timer that takes as long as a
   * call. A call that waits for a dependency as long is as late, whatever its dependency does.
   *
   * @param home the stage that continues where a call continues when its dependency has answered
   */
  public void watch(UnaryOperator<CompletableFuture<Void>> home) {
    long now = clock.getAsLong();
    long next = watched.get();
    if (now - next >= 0 && watched.compareAndSet(next, now + WATCH_NANOS)) {
      long time = limit.usual();
      CompletableFuture<Void> due = new CompletableFuture<>();
      var unused = home.apply(due).thenRun(() -> limit.late(clock.getAsLong() - now - time));
      timer.schedule(() -> due.complete(null), time);
    }
  }

  /**
   * Waits for room.
   *
   * @param caller the hash of the caller
   * @param then receives the permit, or null if the call is rejected: once, by any thread, perhaps
   *     before this method returns. It must not block
   */
  public Waiting await(Level level, int caller, Consumer<@Nullable Permit> then) {
    long now = clock.getAsLong();
    Waiting call = new Waiting(level, now + maxWait, then);
    int rank = rank(level, caller, now);
    if (waiting.incrementAndGet() > maxWaiting && !makeRoom(rank)) {
      call.reject();
      return call;
    }
    if (maxWait <= 0) {
      call.reject();
      return call;
    }
    queue(rank).add(call);
    mark(rank);
    if (timed.compareAndSet(false, true)) {
      timer.schedule(this::expire, maxWait);
    }
    admitWaiting(); // a place may have become free meanwhile
    return call;
  }

  /** Rejects a call that cannot wait. */
  public void reject(Level level) {
    countShed(level);
  }

  private static int rank(Level level, int caller, long nanos) {
    long turn = Math.floorDiv(nanos, TURN_NANOS);
    int salt = (int) Math.floorDiv(turn, COHORTS);
    int mixed = (caller ^ salt * 0x9E3779B9) * 0x85EBCA6B;
    int cohort = (mixed ^ mixed >>> 15) & COHORTS - 1;
    return level.ordinal() * COHORTS + (int) (cohort + turn * STEP & COHORTS - 1);
  }

  private Queue<Waiting> queue(int rank) {
    return queues.get(rank);
  }

  private void mark(int rank) {
    AtomicLong bits = taken[rank >>> 6];
    long bit = 1L << rank;
    if ((bits.get() & bit) == 0) {
      bits.getAndUpdate(all -> all | bit);
    }
  }

  private void unmark(int rank) {
    long bit = 1L << rank;
    taken[rank >>> 6].getAndUpdate(all -> all & ~bit);
    if (!queue(rank).isEmpty()) { // added meanwhile
      mark(rank);
    }
  }

  /** Rejects the call that is last in the order, if it is behind this rank. */
  private boolean makeRoom(int rank) {
    for (int word = taken.length - 1; word >= 0; word--) {
      for (long bits = taken[word].get(); bits != 0; bits &= ~Long.highestOneBit(bits)) {
        int last = word * 64 + 63 - Long.numberOfLeadingZeros(bits);
        if (last <= rank) {
          return false;
        }
        for (Waiting call = queue(last).poll(); call != null; call = queue(last).poll()) {
          if (call.get() == Waiting.WAITS) {
            call.reject();
            return true;
          }
        }
        unmark(last);
      }
    }
    return false;
  }

  /** Gives free places to calls that wait. */
  private void admitWaiting() {
    while (waiting.get() > 0) {
      Waiting next = begin();
      if (next == null) {
        return;
      }
      next.then.accept(new Permit(clock.getAsLong()));
    }
  }

  /** The next call that waits, with its place counted; null without one, or without room. */
  private @Nullable Waiting begin() {
    int all = limit.now();
    for (int word = 0; word < taken.length; word++) {
      for (long bits = taken[word].get(); bits != 0; bits &= bits - 1) {
        int rank = word * 64 + Long.numberOfTrailingZeros(bits);
        Queue<Waiting> queue = queue(rank);
        if (queue.peek() == null) {
          unmark(rank);
          continue;
        }
        if (!reserve(ALL[rank / COHORTS].room(all))) {
          return null;
        }
        for (Waiting call = queue.poll(); call != null; call = queue.poll()) {
          if (call.decide()) {
            return call;
          }
        }
        inFlight.getAndDecrement(); // another thread has taken the last of them
        unmark(rank);
        word = -1; // a call may have come meanwhile and found this place taken
        break;
      }
    }
    return null;
  }

  private boolean reserve(int room) {
    while (true) {
      int now = inFlight.get();
      if (now >= room) {
        return false;
      }
      if (inFlight.compareAndSet(now, now + 1)) {
        return true;
      }
    }
  }

  /** Rejects calls that have waited too long. In each queue they are in the order of their time. */
  private void expire() {
    long now = clock.getAsLong();
    long next = Long.MAX_VALUE;
    for (int word = 0; word < taken.length; word++) {
      for (long bits = taken[word].get(); bits != 0; bits &= bits - 1) {
        int rank = word * 64 + Long.numberOfTrailingZeros(bits);
        Queue<Waiting> queue = queue(rank);
        Waiting first = queue.peek();
        while (first != null && (first.get() != Waiting.WAITS || first.until - now <= 0)) {
          if (queue.remove(first)) {
            first.reject();
          }
          first = queue.peek();
        }
        if (first == null) {
          unmark(rank);
        } else {
          next = Math.min(next, first.until - now);
        }
      }
    }
    timed.set(false);
    if ((next < Long.MAX_VALUE || waiting.get() > 0) && timed.compareAndSet(false, true)) {
      timer.schedule(this::expire, next < Long.MAX_VALUE ? next : maxWait);
    }
  }

  private void countShed(Level level) {
    shed[level.ordinal()].increment();
    lastShed = clock.getAsLong();
    if (!sheds.get() && sheds.compareAndSet(false, true)) {
      states.accept(true);
      timer.schedule(this::calm, TURN_NANOS);
    }
  }

  private void calm() {
    long left = lastShed + TURN_NANOS - clock.getAsLong();
    if (left > 0) {
      timer.schedule(this::calm, left);
    } else {
      sheds.set(false);
      states.accept(false);
    }
  }

  /** Whether a call was rejected in the last ten seconds. */
  public boolean isOverloaded() {
    return sheds.get();
  }

  public int limit() {
    return limit.now();
  }

  public int inFlight() {
    return inFlight.get();
  }

  public int waiting() {
    return waiting.get();
  }

  /** The calls of a criticality that were rejected, or would have been where it observes. */
  public long shed(Level level) {
    return shed[level.ordinal()].sum();
  }
}
