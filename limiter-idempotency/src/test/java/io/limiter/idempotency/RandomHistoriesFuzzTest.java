// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.FailureReason;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The whole of two processes, with timers, waiting repetitions and a store in memory, over a
 * network with faults: the promises of the package hold. {@link SubmissionModelTest} tries
 * everything, for fewer submissions; here histories are long.
 */
class RandomHistoriesFuzzTest {

  private static final Duration CLAIM = Duration.ofSeconds(30);
  private static final Duration RETAIN = Duration.ofSeconds(60);
  private static final Duration LONGEST_RUN = Duration.ofSeconds(100);
  private static final StateKey KEY = new StateKey("tag", "a.key");
  private static final int STEPS = 500;

  /** Of all histories. */
  private long runs;

  @Test
  void thePromisesHold() {
    check(100_000);
  }

  @Tag("matrix")
  @Test
  void thePromisesHoldInAMillionSteps() {
    check(1_000_000);
  }

  private void check(long steps) {
    long done =
        Seeds.forEach(
            steps,
            seed -> {
              History history = new History(seed);
              long some = history.run();
              runs += history.runs;
              return some;
            });
    assertThat(runs).as("methods that have begun").isGreaterThan(done / 100);
  }

  /** One claim, as somebody sees it who sees everything. */
  private static final class Seen {
    final long claimedAt;
    final boolean[] crashed;

    /** When it was extended last, and the renewals that were sent since. */
    long extendedAt;

    int renewals;
    boolean runs;
    long protectedUntil;
    long storedUntil;
    boolean isAnswered;

    Seen(long claimedAt, boolean[] crashed) {
      this.claimedAt = claimedAt;
      this.crashed = crashed;
    }

    /** One that fails is sent again each second, so these have all failed. */
    boolean isUnreached(long now) {
      return now - extendedAt >= CLAIM.toNanos() && renewals >= 10;
    }
  }

  private static final class History {

    private final long seed;
    private long runs;
    private final Random random;
    private final ManualTiming timing = new ManualTiming();
    private final MemorySubmissions memory = new MemorySubmissions(10, 1_000, 1_000, timing::nanos);
    private final List<Seen> seen = new ArrayList<>();
    private final List<Call> calls = new ArrayList<>();
    private final Instance[] instances = new Instance[2];

    History(long seed) {
      this.seed = seed;
      this.random = new Random(seed);
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
      assertThat(memory.usage()).as("values, seed %s", seed).containsExactly(0, 0, 0);
      for (Instance instance : instances) {
        assertThat(instance.submissions.pendingBytes()).as("seed %s", seed).isZero();
      }
      return STEPS;
    }

    private void step() {
      int choice = random.nextInt(100);
      if (choice < 30) {
        instances[random.nextInt(2)].request();
      } else if (choice < 60 && !calls.isEmpty()) {
        Call call = calls.get(random.nextInt(calls.size()));
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
        if (random.nextBoolean()) {
          instances[random.nextInt(2)].endsRefusedUntil = until; // such as large ones
        } else {
          instances[random.nextInt(2)].awayUntil = until;
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
      runs++;
      call.seen.runs = true;
      call.seen.protectedUntil = call.seen.claimedAt + LONGEST_RUN.toNanos() + RETAIN.toNanos();
      for (Seen other : seen) {
        if (other != call.seen) {
          assertThat(other.storedUntil).as("a stored end, seed %s", seed).isLessThanOrEqualTo(now);
          if (!other.crashed[0] && !other.isUnreached(now)) {
            assertThat(other.protectedUntil)
                .as("a second run, seed %s", seed)
                .isLessThanOrEqualTo(now);
          }
        }
      }
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
    private final class Instance implements SubmissionStore {

      final boolean[] crashed = {false};
      final Submissions submissions =
          new Submissions(
              this,
              timing,
              new RandomBytes(Claim.TOKEN_BYTES, random::nextBytes, Runnable::run, () -> 1_000_000),
              1_000,
              (route, outcome) -> {});
      private long endsRefusedUntil;
      private long awayUntil;
      private final Waiting waiting =
          new Waiting((request, mayBeLocal) -> submissions.claim(request), timing, 5, 5);

      /** By the token of the claim. */
      private final Map<String, Seen> claims = new HashMap<>();

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
        Seen made = new Seen(timing.nanos(), crashed);
        seen.add(made);
        claims.put(new String(claim.token(), StandardCharsets.ISO_8859_1), made);
        return this.<Found>send(
                () -> {
                  Found found = join(memory.claim(claim, time));
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
        return memory.look(claim);
      }

      @Override
      public CompletionStage<Boolean> renew(Claim claim, Duration time) {
        Seen of = of(claim);
        of.renewals++;
        return send(
            () -> {
              boolean held = join(memory.renew(claim, time));
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
              Kept kept = join(memory.end(claim, end, time));
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
        return memory.forget(key);
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
                    timing.schedule(() -> reply.complete(found), slow);
                  },
                  slow);
          default -> reply.complete(command.get());
        }
        return reply;
      }

      private <T> T join(CompletionStage<T> done) {
        return done.toCompletableFuture().join();
      }
    }
  }
}
