// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import io.limiter.core.FailureReason;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.idempotency.Holding.Times;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** Claims submissions, and sees to it that each claim gets its end. Thread-safe; never blocks. */
final class Submissions {

  /** After them nothing was sent, so no claim can have been made. */
  private static final Set<FailureReason> NOT_SENT =
      EnumSet.of(FailureReason.OVERLOADED, FailureReason.BREAKER_OPEN);

  /** How a claim has ended. */
  enum Outcome {
    /** The answer, or that the submission is done, is stored. */
    KEPT,
    /** The answer has no room in the store: it is done. */
    NO_ROOM,
    /** The user of the store has no right to keep answers: it is done. */
    FORBIDDEN,
    /** The key is free. */
    RELEASED,
    /** The claim was lost before its end: its submission may have run, or run, twice. */
    LOST,
    /** The store did not take the end until it was of no use any more. */
    GIVEN_UP
  }

  /** Receives each end. Runs on any thread: it must not block or throw. */
  interface Listener {
    void over(String route, Outcome outcome);
  }

  private final SubmissionStore store;
  private final Timing timing;
  private final RandomBytes tokens;
  private final long maxPendingBytes;
  private final Listener listener;

  /** The bytes of answers that no store has yet. */
  private final AtomicLong pendingBytes = new AtomicLong();

  /** Keys whose claims this process holds: as many as there are calls, and ends without a store. */
  private final Map<StateKey, Held> held = new ConcurrentHashMap<>();

  /**
   * @param tokens of {@link Claim#TOKEN_BYTES}
   * @param maxPendingBytes the most bytes of answers that wait for a store that does not take them;
   *     the submissions of further ones are done, without an answer
   */
  Submissions(
      SubmissionStore store,
      Timing timing,
      RandomBytes tokens,
      long maxPendingBytes,
      Listener listener) {
    this.store = store;
    this.timing = timing;
    this.tokens = tokens;
    this.maxPendingBytes = maxPendingBytes;
    this.listener = listener;
  }

  /**
   * A submission that asks for its key.
   *
   * @param head the fingerprint of what stands before its body
   * @param body that of its body; empty if it is not known yet
   * @param route the name under which its end is reported
   */
  @SuppressWarnings("ArrayRecordComponent") // compared by identity, if at all
  record Request(StateKey key, byte[] head, byte[] body, Times times, String route) {

    Request withBody(byte[] fingerprint) {
      return new Request(key, head, fingerprint, times, route);
    }
  }

  /**
   * What a request has found.
   *
   * @param held the claim of the request; null unless it has taken the key
   */
  record Attempt(Found found, @Nullable Held held) {}

  /**
   * Claims the key of a submission; fails as the store does. The caller {@linkplain Held#enter
   * enters} or {@linkplain Held#abandon abandons} a claim that it gets.
   */
  CompletionStage<Attempt> claim(Request request) {
    return tokens.next().thenCompose(token -> new Held(request, token).claim());
  }

  /** What there is under the key of a submission, which is not claimed. */
  CompletionStage<Found> look(Request request) {
    return tokens
        .next()
        .thenCompose(
            token -> store.look(new Claim(request.key(), token, request.head(), request.body())));
  }

  /** Forgets a submission. The end of one that runs is not kept any more. */
  CompletionStage<Void> forget(StateKey key) {
    return store.forget(key);
  }

  /**
   * Whether a method of this process runs under a key, or may begin, or its end is not stored.
   * Where another store decides while the shared one is away, it is to find such a key taken.
   */
  boolean holds(StateKey key) {
    return held.containsKey(key);
  }

  /**
   * Writes all ends that the store does not have yet, once and now, such as at the end of the
   * service.
   *
   * @return completes once it has all; maybe never
   */
  CompletableFuture<Void> hurry() {
    return CompletableFuture.allOf(
        held.values().stream().map(Held::hurry).toArray(CompletableFuture<?>[]::new));
  }

  /** The bytes of answers that no store has yet. */
  long pendingBytes() {
    return pendingBytes.get();
  }

  /**
   * A claim, until its end is stored. Its methods return at once, whatever the store does. {@link
   * Holding} decides what happens; this class sends commands, and runs the timer. Thread-safe.
   */
  final class Held {

    private final String route;
    private final CompletableFuture<Void> over = new CompletableFuture<>();

    // Guarded by this object.
    private final Holding holding;
    private Claim claim;
    private @Nullable Future<?> timer;
    private long timerAt = Long.MAX_VALUE;
    private int reserved;
    private boolean hasNoRoom;

    private Held(Request request, byte[] token) {
      this.route = request.route();
      this.claim = new Claim(request.key(), token, request.head(), request.body());
      this.holding = new Holding(request.times(), timing.nanos());
    }

    private CompletionStage<Attempt> claim() {
      return store
          .claim(claim, Duration.ofNanos(holding.times.claim()))
          .whenComplete(
              (found, failure) -> {
                synchronized (this) {
                  if (failure == null) {
                    boolean own = found.kind() == Found.Kind.CLAIMED;
                    holding.claimed(own, timing.nanos());
                    if (own) {
                      held.put(claim.key(), this);
                    }
                  } else {
                    holding.unclaimed(!NOT_SENT.contains(reason(failure)), timing.nanos());
                  }
                }
                act();
              })
          .thenApply(found -> new Attempt(found, found.kind() == Found.Kind.CLAIMED ? this : null));
    }

    private static @Nullable FailureReason reason(Throwable failure) {
      Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
      return cause instanceof StoreException known ? known.reason() : null;
    }

    /**
     * To be called just before the method. If it returns false, the method must not run: the claim
     * may be another's by now. The answer is then that of a store that is away.
     */
    boolean enter() {
      boolean entered;
      synchronized (this) {
        entered = holding.enter(timing.nanos());
      }
      if (!entered) {
        act();
      }
      return entered;
    }

    /** The body is read. Its fingerprint goes with the next command. */
    synchronized void bodyRead(byte[] fingerprint) {
      claim = claim.withBody(fingerprint);
    }

    /**
     * The call was denied, or is over: the key is free again, unless the method has begun. So it
     * may be called at the end of any call.
     */
    void abandon() {
      synchronized (this) {
        holding.abandon(timing.nanos());
      }
      act();
    }

    /** How long an end is kept. */
    Duration retain() {
      return Duration.ofNanos(holding.times.retain());
    }

    /** The method has ended with an answer that has no room: the submission is done. */
    void endWithoutRoom() {
      synchronized (this) {
        hasNoRoom = !holding.ended;
      }
      end(End.DONE);
    }

    /** The method has ended. Nothing waits until the store has that. */
    void end(End how) {
      synchronized (this) {
        holding.ended(reserve(how), timing.nanos());
      }
      act();
    }

    /** Counts an answer that is to be stored; it is done without one if there are too many. */
    private End reserve(End how) {
      int bytes = how.answer().length;
      if (holding.ended || pendingBytes.addAndGet(bytes) <= maxPendingBytes) {
        reserved += holding.ended ? 0 : bytes;
        return how;
      }
      pendingBytes.addAndGet(-bytes);
      hasNoRoom = true;
      return End.DONE;
    }

    private void act() {
      while (true) {
        Holding.Command command;
        Claim current;
        End end;
        boolean isKept;
        long now = timing.nanos();
        synchronized (this) {
          boolean wasOver = holding.phase == Holding.Phase.OVER;
          command = holding.next(now);
          current = claim;
          end = holding.writing;
          isKept = holding.end != null && holding.end.isKept();
          if (command == Holding.Command.NOTHING) {
            schedule(now);
            if (wasOver || holding.phase != Holding.Phase.OVER) {
              return;
            }
          }
        }
        if (command == Holding.Command.RENEW) {
          renew(current, now);
        } else if (command == Holding.Command.END && end != null) {
          write(current, end);
        } else {
          // An unused claim is free after its time.
          listener.over(route, isKept ? Outcome.GIVEN_UP : Outcome.RELEASED);
          return;
        }
      }
    }

    private void renew(Claim current, long sentAt) {
      store
          .renew(current, Duration.ofNanos(holding.times.claim()))
          .whenComplete(
              (own, failure) -> {
                boolean isLost;
                synchronized (this) {
                  boolean wasLost = holding.lost;
                  if (failure == null) {
                    holding.renewed(own, sentAt);
                  } else {
                    holding.unrenewed(timing.nanos());
                  }
                  isLost = holding.lost && !wasLost;
                }
                if (isLost) {
                  listener.over(route, Outcome.LOST);
                }
                act();
              });
    }

    private void write(Claim current, End end) {
      store
          .end(current, end, Duration.ofNanos(holding.times.retain()))
          .whenComplete(
              (kept, failure) -> {
                boolean isOver;
                boolean isCut;
                synchronized (this) {
                  boolean wasOver = holding.phase == Holding.Phase.OVER;
                  if (failure == null) {
                    holding.written(kept != Entry.Kept.LOST, timing.nanos());
                  } else {
                    holding.unwritten(timing.nanos());
                  }
                  isOver = !wasOver && holding.phase == Holding.Phase.OVER;
                  isCut = hasNoRoom;
                }
                if (isOver) {
                  Outcome outcome = outcome(end, kept);
                  listener.over(
                      route, isCut && outcome == Outcome.KEPT ? Outcome.NO_ROOM : outcome);
                }
                act();
              });
    }

    private static Outcome outcome(End end, Entry.Kept kept) {
      return switch (kept) {
        case KEPT -> end.isKept() ? Outcome.KEPT : Outcome.RELEASED;
        case AS_DONE -> Outcome.NO_ROOM;
        case FORBIDDEN -> Outcome.FORBIDDEN;
        // An unused claim is free whichever way it ends.
        case LOST -> end.isKept() ? Outcome.LOST : Outcome.RELEASED;
      };
    }

    /** Has one timer for whatever is next; none once it is over. */
    private void schedule(long now) {
      boolean isOver = holding.phase == Holding.Phase.OVER;
      if (isOver) {
        pendingBytes.addAndGet(-reserved);
        reserved = 0;
        held.remove(claim.key(), this);
        over.complete(null);
      }
      long next = isOver ? Long.MAX_VALUE : holding.nextAt();
      if (timer != null && (isOver || timerAt > next)) {
        timer.cancel(false);
        timer = null;
      }
      if (timer == null && !isOver) {
        timerAt = next;
        timer = timing.schedule(this::wake, Math.max(0, next - now));
      }
    }

    private CompletableFuture<Void> hurry() {
      synchronized (this) {
        if (holding.phase != Holding.Phase.ENDING) {
          return CompletableFuture.completedFuture(null); // its method runs
        }
        holding.hurry(timing.nanos());
      }
      act();
      return over;
    }

    private void wake() {
      synchronized (this) {
        timer = null;
      }
      act();
    }
  }
}
