// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.RedisURI;
import io.limiter.core.FailureReason;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.redis.RedisScripts.Script;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.RedisStore;
import io.limiter.core.redis.SharedConnection;
import io.limiter.core.testing.RedisFixture;
import io.limiter.core.testing.Seeds;
import io.limiter.idempotency.Entry.Kept;
import io.limiter.idempotency.Holding.Times;
import io.limiter.idempotency.Submissions.Attempt;
import io.limiter.idempotency.Submissions.Held;
import io.limiter.idempotency.Submissions.Request;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.function.Supplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The whole of two processes, with timers, waiting repetitions and a store in memory or in Redis,
 * over a network with faults: the promises of the package hold. {@link SubmissionModelTest} tries
 * everything, for fewer submissions; here histories are long.
 *
 * <p>A second run is a failure, unless the first process has crashed, or none of its renewals has
 * reached the store within the time of a claim, since the network was cut or the process was paused
 * meanwhile. Those are counted apart.
 */
class RandomHistoriesFuzzTest {

  private static final Duration CLAIM = Duration.ofSeconds(30);
  private static final Duration RETAIN = Duration.ofSeconds(60);
  private static final Duration LONGEST_RUN = Duration.ofSeconds(100);
  private static final StateKey KEY = new StateKey("tag", "a.key");
  private static final int STEPS = 500;

  @Test
  void thePromisesHold() {
    check(100_000, Behind::memory);
  }

  @Tag("matrix")
  @Test
  void thePromisesHoldInAMillionSteps() {
    check(1_000_000, Behind::memory);
  }

  @Test
  void thePromisesHoldOverRedis() {
    overRedis(20_000);
  }

  @Tag("matrix")
  @Test
  void thePromisesHoldInAMillionStepsOverRedis() {
    overRedis(1_000_000);
  }

  /** What happened over Redis happens over memory, too. */
  private static void overRedis(long steps) {
    try (TimedRedis redis = new TimedRedis()) {
      assertThat(check(steps, redis)).isEqualTo(check(steps, Behind::memory));
    }
  }

  private static Figures check(long steps, Behind behind) {
    Figures figures = new Figures();
    long begin = System.nanoTime();
    long done = Seeds.forEach(steps, seed -> new History(seed, behind, figures).run());
    System.out.printf(
        "%s steps over %s in %s s: %s%n",
        done,
        behind instanceof TimedRedis ? "Redis" : "memory",
        Duration.ofNanos(System.nanoTime() - begin).toSeconds(),
        figures);
    assertThat(figures.runs).as("methods that have begun").isGreaterThan(done / 100);
    assertThat(figures.doubleRuns).isZero();
    if (done >= 10_000) {
      assertThat(figures.afterCuts).as("second runs after longer cuts").isPositive();
      assertThat(figures.afterPauses).as("second runs after longer pauses").isPositive();
      assertThat(figures.afterCrashes).as("second runs after crashes").isPositive();
    }
    return figures;
  }

  /** Of all histories. */
  private static final class Figures {
    long runs;
    long doubleRuns;
    long afterCuts;
    long afterPauses;
    long afterCrashes;

    @Override
    public boolean equals(Object other) {
      return other instanceof Figures && toString().equals(other.toString());
    }

    @Override
    public int hashCode() {
      return toString().hashCode();
    }

    @Override
    public String toString() {
      return "%s runs, %s double runs; apart: %s second runs after cuts and %s after pauses longer than a claim, %s after crashes"
          .formatted(runs, doubleRuns, afterCuts, afterPauses, afterCrashes);
    }
  }

  /** Makes the store behind the network of a history, with the clock of that. */
  @FunctionalInterface
  private interface Behind {

    SubmissionStore of(Timing clock);

    static SubmissionStore memory(Timing clock) {
      return new MemorySubmissions(10, 1_000, 1_000, clock::nanos);
    }
  }

  /**
   * Redis, whose clock cannot be set, but its expiry can. Times are longer there by {@link #SCALE},
   * so that the time that a history really takes is less than the smallest step of its clock.
   */
  private static final class TimedRedis implements Behind, AutoCloseable {

    private static final int SCALE = 100_000;
    private static final long NANOS_OF_A_MILLI = 1_000_000 / SCALE;

    private static final Script PASS = Script.load(RandomHistoriesFuzzTest.class, "pass.lua");

    private final RedisStore limits;
    private final byte[][] names;

    TimedRedis() {
      RedisSettings settings =
          new RedisSettings(
              "test-" + UUID.randomUUID().toString().substring(0, 8) + ":", Duration.ofSeconds(10));
      SharedConnection shared =
          SharedConnection.open(RedisURI.create(RedisFixture.uri()), settings);
      SubmissionStoreContract.join(shared.firstAttempt());
      limits = new RedisStore(shared, settings);
      names =
          new byte[][] {
            limits.scripts().name(KEY),
            limits.scripts().name(RedisSubmissions.bucket(KEY.tag(), RETAIN))
          };
    }

    @Override
    public SubmissionStore of(Timing clock) {
      SubmissionStore redis = new RedisSubmissions(limits.scripts(), 1L << 40);
      long[] passed = {0};
      Runnable pass =
          () -> {
            long millis = clock.nanos() / NANOS_OF_A_MILLI;
            if (millis > passed[0]) {
              byte[] arguments =
                  Long.toString(millis - passed[0]).getBytes(StandardCharsets.US_ASCII);
              SubmissionStoreContract.join(
                  limits.scripts().run(PASS, names, new byte[][] {arguments}, reply -> reply));
              passed[0] = millis;
            }
          };
      return new SubmissionStore() {
        @Override
        public CompletionStage<Found> claim(Claim claim, Duration time) {
          pass.run();
          return redis.claim(claim, time.multipliedBy(SCALE));
        }

        @Override
        public CompletionStage<Found> look(Claim claim) {
          pass.run();
          return redis.look(claim);
        }

        @Override
        public CompletionStage<Boolean> renew(Claim claim, Duration time) {
          pass.run();
          return redis.renew(claim, time.multipliedBy(SCALE));
        }

        @Override
        public CompletionStage<Kept> end(Claim claim, End end, Duration time) {
          pass.run();
          return redis.end(claim, end, time.multipliedBy(SCALE));
        }

        @Override
        public CompletionStage<Void> forget(StateKey key) {
          return redis.forget(key);
        }
      };
    }

    @Override
    public void close() {
      limits.close();
    }
  }

  /** One claim, as somebody sees it who sees everything. */
  private static final class Seen {
    final long claimedAt;
    final boolean[] crashed;
    final long[] longPauseUntil;

    /** When it was extended last, and the renewals that were sent since. */
    long extendedAt;

    int renewals;
    boolean runs;
    long protectedUntil;
    long storedUntil;
    boolean isAnswered;

    Seen(long claimedAt, boolean[] crashed, long[] longPauseUntil) {
      this.claimedAt = claimedAt;
      this.crashed = crashed;
      this.longPauseUntil = longPauseUntil;
    }

    /** Its process was paused since its claim was extended last, which was too long ago. */
    boolean isAfterPause(long now) {
      return now - extendedAt >= CLAIM.toNanos() && longPauseUntil[0] > extendedAt;
    }

    /** One that fails is sent again each second, so these have all failed. */
    boolean isUnreached(long now) {
      return now - extendedAt >= CLAIM.toNanos() && renewals >= 10;
    }
  }

  private static final class History {

    private final long seed;
    private final Figures figures;
    private final Random random;
    private final ManualTiming timing = new ManualTiming();
    private final SubmissionStore store;
    private final List<Seen> seen = new ArrayList<>();
    private final List<Call> calls = new ArrayList<>();
    private final Instance[] instances = new Instance[2];

    History(long seed, Behind behind, Figures figures) {
      this.seed = seed;
      this.figures = figures;
      this.random = new Random(seed);
      this.store = behind.of(timing);
      instances[0] = new Instance();
      instances[1] = new Instance();
    }

    /** A request whose claim it is. */
    private record Call(Instance instance, Held held, Seen seen) {}

    long run() {
      for (int i = 0; i < STEPS; i++) {
        step();
      }
      timing.pass(LONGEST_RUN.plus(RETAIN).plus(RETAIN));
      for (Call call : calls) {
        end(call);
      }
      timing.pass(LONGEST_RUN.plus(RETAIN).plus(RETAIN));
      assertThat(timing.pending()).as("timers, seed %s", seed).isZero();
      Claim other = SubmissionStoreContract.by(KEY, 'x');
      assertThat(SubmissionStoreContract.join(store.look(other)).kind())
          .as("what is left, seed %s", seed)
          .isEqualTo(Found.Kind.ABSENT);
      if (store instanceof MemorySubmissions memory) {
        assertThat(memory.usage()).as("values, seed %s", seed).containsExactly(0, 0, 0);
      }
      for (Instance instance : instances) {
        assertThat(instance.submissions.pendingBytes()).as("seed %s", seed).isZero();
      }
      return STEPS;
    }

    private void step() {
      int choice = random.nextInt(100);
      if (choice < 30) {
        Instance instance = instances[random.nextInt(2)];
        if (!instance.isPaused()) {
          instance.request();
        }
      } else if (choice < 60 && !calls.isEmpty()) {
        Call call = calls.get(random.nextInt(calls.size()));
        if (call.instance.isPaused()) {
          return;
        }
        if (call.seen.runs) {
          if (random.nextInt(4) == 0) {
            end(call);
            calls.remove(call);
          } else {
            call.held.abandon(); // the end of a response
          }
        } else if (random.nextInt(4) == 0) {
          call.held.abandon();
          calls.remove(call);
        } else {
          enter(call);
        }
      } else if (choice == 99) {
        crash(random.nextInt(2));
      } else if (choice > 95) {
        long until = timing.nanos() + Duration.ofSeconds(random.nextInt(90)).toNanos();
        Instance instance = instances[random.nextInt(2)];
        switch (random.nextInt(3)) {
          case 0 -> instance.endsRefusedUntil = until; // such as large ones
          case 1 -> instance.awayUntil = until;
          default -> instance.pause(until);
        }
      } else {
        int[] millis = {1, 50, 1_000, 10_000, 31_000};
        timing.pass(Duration.ofMillis(random.nextInt(millis[random.nextInt(millis.length)])));
      }
    }

    private void enter(Call call) {
      if (!call.held.enter()) {
        calls.remove(call);
        return;
      }
      long now = timing.nanos();
      figures.runs++;
      call.seen.runs = true;
      call.seen.protectedUntil = call.seen.claimedAt + LONGEST_RUN.toNanos() + RETAIN.toNanos();
      boolean isAfterCrash = false;
      boolean isAfterCut = false;
      boolean isAfterPause = false;
      for (Seen other : seen) {
        if (other == call.seen) {
          continue;
        }
        assertThat(other.storedUntil).as("a stored end, seed %s", seed).isLessThanOrEqualTo(now);
        if (other.protectedUntil <= now) {
          continue;
        }
        if (other.crashed[0]) {
          isAfterCrash = true;
        } else if (other.isUnreached(now)) {
          isAfterCut = true;
        } else if (other.isAfterPause(now)) {
          isAfterPause = true;
        } else {
          figures.doubleRuns++;
          assertThat(other.protectedUntil)
              .as("a second run, seed %s", seed)
              .isLessThanOrEqualTo(now);
        }
      }
      figures.afterCrashes += isAfterCrash ? 1 : 0;
      figures.afterCuts += isAfterCut ? 1 : 0;
      figures.afterPauses += isAfterPause ? 1 : 0;
    }

    private void end(Call call) {
      long now = timing.nanos();
      Seen of = call.seen;
      if (!of.runs) {
        call.held.abandon();
        return;
      }
      of.runs = false;
      End[] ends = {SubmissionStoreContract.answer("answer"), End.DONE, End.RELEASE};
      End end = ends[random.nextInt(ends.length)];
      if (!end.isKept()) {
        of.protectedUntil = 0;
      } else if (now < of.claimedAt + LONGEST_RUN.toNanos()) {
        of.protectedUntil = now + RETAIN.toNanos();
      }
      call.held.end(end);
    }

    private void crash(int i) {
      instances[i].crashed[0] = true;
      calls.removeIf(call -> call.instance == instances[i]);
      instances[i] = new Instance();
    }

    /** A process, and its network. */
    private final class Instance implements SubmissionStore, Timing {

      final boolean[] crashed = {false};
      final long[] longPauseUntil = {0};
      final Submissions submissions =
          new Submissions(
              this,
              this,
              new RandomBytes(Claim.TOKEN_BYTES, random::nextBytes, Runnable::run, () -> 1_000_000),
              1_000,
              (route, outcome) -> {});
      private long endsRefusedUntil;
      private long awayUntil;
      private long pausedUntil;
      private final Waiting waiting =
          new Waiting((request, mayBeLocal) -> submissions.claim(request), this, 5, 5);

      /** By the token of the claim. */
      private final Map<String, Seen> claims = new HashMap<>();

      boolean isPaused() {
        return timing.nanos() < pausedUntil;
      }

      /** Around a shorter pause than a third of a claim, at least ten renewals are sent in time. */
      void pause(long until) {
        pausedUntil = Math.max(pausedUntil, until);
        if (until - timing.nanos() >= CLAIM.toNanos() / 3) {
          longPauseUntil[0] = until;
        }
      }

      @Override
      public long nanos() {
        return timing.nanos();
      }

      @Override
      public Future<?> schedule(Runnable task, long nanos) {
        return timing.schedule(() -> awake(task), nanos);
      }

      /** Runs what is due in the process, or once it is not paused any more. */
      private void awake(Runnable task) {
        if (isPaused()) {
          timing.schedule(() -> awake(task), pausedUntil - timing.nanos());
        } else {
          task.run();
        }
      }

      void request() {
        Request request =
            new Request(
                KEY, new byte[16], Entry.NONE, Times.of(CLAIM, RETAIN, LONGEST_RUN), "route");
        submissions
            .claim(request)
            .thenCompose(
                found ->
                    found.found().kind() == Found.Kind.RUNNING
                        ? waiting.await(request, found, Duration.ofSeconds(5).toNanos(), false)
                        : CompletableFuture.completedFuture(found))
            .thenAccept(this::found);
      }

      private void found(Attempt attempt) {
        if (attempt.held() != null && !crashed[0]) {
          calls.add(new Call(this, attempt.held(), last));
        }
      }

      /** That of the newest reply to a claim: what it completes runs at once. */
      private Seen last;

      @Override
      public CompletionStage<Found> claim(Claim claim, Duration time) {
        Seen made = new Seen(timing.nanos(), crashed, longPauseUntil);
        seen.add(made);
        claims.put(new String(claim.token(), StandardCharsets.ISO_8859_1), made);
        return this.<Found>send(
                () -> {
                  Found found = SubmissionStoreContract.join(store.claim(claim, time));
                  made.extendedAt = timing.nanos();
                  return found;
                })
            .thenApply(
                found -> {
                  last = made;
                  return found;
                });
      }

      @Override
      public CompletionStage<Found> look(Claim claim) {
        return store.look(claim);
      }

      @Override
      public CompletionStage<Boolean> renew(Claim claim, Duration time) {
        Seen of = of(claim);
        of.renewals++;
        return send(
            () -> {
              boolean held = SubmissionStoreContract.join(store.renew(claim, time));
              if (held) {
                of.extendedAt = timing.nanos();
                of.renewals = 0;
              }
              return held;
            });
      }

      @Override
      public CompletionStage<Kept> end(Claim claim, End end, Duration time) {
        Seen of = of(claim);
        if (end.isKept() && timing.nanos() < endsRefusedUntil) {
          return CompletableFuture.failedFuture(
              new StoreException(FailureReason.ERROR, "refused", null));
        }
        return send(
            () -> {
              Kept kept = SubmissionStoreContract.join(store.end(claim, end, time));
              if (kept != Kept.LOST && !of.isAnswered) { // an answer is final
                of.storedUntil = end.isKept() ? timing.nanos() + RETAIN.toNanos() : 0;
                of.isAnswered = end.kind() == End.Kind.ANSWER && kept == Kept.KEPT;
              }
              return kept;
            });
      }

      private Seen of(Claim claim) {
        return claims.get(new String(claim.token(), StandardCharsets.ISO_8859_1));
      }

      @Override
      public CompletionStage<Void> forget(StateKey key) {
        return store.forget(key);
      }

      /** Runs a command in the store, or not, now or later, with or without a reply. */
      private <T> CompletionStage<T> send(Supplier<T> command) {
        CompletableFuture<T> reply = new CompletableFuture<>();
        StoreException none = new StoreException(FailureReason.TIMEOUT, "no reply", null);
        if (crashed[0]) {
          return reply; // of a process that is not there any more
        }
        if (timing.nanos() < awayUntil) {
          reply.completeExceptionally(none);
          return reply;
        }
        long slow = Duration.ofMillis(random.nextInt(100)).toNanos();
        long late = Duration.ofMillis(random.nextInt(60_000)).toNanos();
        switch (random.nextInt(20)) {
          case 0, 1, 2 -> reply.completeExceptionally(none);
          case 3 -> {
            T unused = command.get();
            reply.completeExceptionally(none);
          }
          case 4 -> {
            timing.schedule(
                () -> {
                  T unused = command.get();
                },
                late);
            reply.completeExceptionally(none);
          }
          case 5, 6 ->
              timing.schedule(
                  () -> {
                    T found = command.get();
                    schedule(() -> reply.complete(found), slow);
                  },
                  slow);
          default -> reply.complete(command.get());
        }
        return reply;
      }
    }
  }
}
