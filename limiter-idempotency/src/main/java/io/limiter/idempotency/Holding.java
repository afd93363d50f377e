// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One claim as its process sees it: a state machine without clock, timer or store, so that a test
 * can explore all that may happen to it. The package description has its states. Times are those of
 * one monotonic clock, in the unit of {@link Times}. Not thread-safe.
 */
final class Holding {

  /** A claim is renewed after this part of its time, so that renewals may fail. */
  private static final int RENEWALS = 3;

  /**
   * A failed renewal is sent again after this part, so that the store need not be back for long.
   */
  private static final int RETRIES = 30;

  /** Where the claim is. */
  enum Phase {
    /** The claim is sent, and not answered. */
    CLAIMING,
    /** The key is claimed: the call waits for its limits or its body, or its method runs. */
    HELD,
    /** It is known how the submission ends, and the store is to know it too. */
    ENDING,
    /** The store has the end, or can no longer get it. */
    OVER
  }

  /** What is to be sent now. */
  enum Command {
    NOTHING,
    RENEW,
    END
  }

  /**
   * How long things last, in any unit. All are 1 or more.
   *
   * @param claim how long a key is taken without a renewal
   * @param retain how long an end is kept
   * @param longestRun how long a claim is renewed at most
   * @param firstPause after the first failed write of an end; it doubles with each further one
   * @param longestPause between two writes of an end
   */
  record Times(long claim, long retain, long longestRun, long firstPause, long longestPause) {

    /** Enough for any pause, and too few to overflow. */
    private static final int MOST_DOUBLINGS = 20;

    private static final Duration FIRST_PAUSE = Duration.ofMillis(100);
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(30);

    /** In nanoseconds, with pauses from 100 ms to 30 s. */
    static Times of(Duration claim, Duration retain, Duration longestRun) {
      return new Times(
          claim.toNanos(),
          retain.toNanos(),
          longestRun.toNanos(),
          FIRST_PAUSE.toNanos(),
          LONGEST_PAUSE.toNanos());
    }

    long pause(int failures) {
      int doublings = Math.min(failures - 1, MOST_DOUBLINGS);
      return Math.min(longestPause, firstPause << doublings);
    }
  }

  final Times times;

  Phase phase = Phase.CLAIMING;

  /** Whether the method has begun; then only its end, or the longest run, ends the claim. */
  boolean entered;

  /** Whether the method has ended, or will never begin. */
  boolean ended;

  /** Whether a reply of the store shows that the claim is lost: it has expired, or was removed. */
  boolean lost;

  /** How it ends; null as long as that is not known. */
  @Nullable End end;

  /** When the claim was sent. */
  final long claimedAt;

  /** Until when the key is surely taken: by the newest command that has extended the claim. */
  long heldUntil;

  long renewAt;
  boolean renewing;

  /** When the end is to be written next, and when it is not worth it any more. */
  long writeAt;

  long giveUpAt;

  /** The end that is on its way to the store; null if none is. */
  @Nullable End writing;

  int failedWrites;

  /** The claim is being sent. */
  Holding(Times times, long now) {
    this.times = times;
    this.claimedAt = now;
    this.heldUntil = now + times.claim();
    this.renewAt = now + times.claim() / RENEWALS;
  }

  /**
   * The store has answered the claim.
   *
   * @param own whether the key is claimed; otherwise it is taken
   */
  void claimed(boolean own, long now) {
    if (!own) {
      phase = Phase.OVER;
    } else if (ended) { // its call is over
      begin(End.RELEASE, now);
    } else {
      phase = Phase.HELD;
    }
  }

  /**
   * The store has not answered the claim.
   *
   * @param mayBeMade whether it may have been made all the same; its call will not run
   */
  void unclaimed(boolean mayBeMade, long now) {
    ended = true;
    if (mayBeMade) {
      begin(End.RELEASE, now);
    } else {
      phase = Phase.OVER;
    }
  }

  /**
   * The method is about to begin. If not, the call must not run: its key may be another one's by
   * now, or is about to be.
   */
  boolean enter(long now) {
    if (phase == Phase.HELD && !ended && now < heldUntil) {
      entered = true;
      return true;
    }
    abandon(now);
    return false;
  }

  /** The call ends. Does nothing once its method has begun: only the end of that counts. */
  void abandon(long now) {
    if (entered || ended) {
      return;
    }
    ended = true;
    if (phase == Phase.HELD) {
      begin(End.RELEASE, now);
    }
  }

  /** The method has ended. */
  void ended(End how, long now) {
    if (!entered || ended) {
      return;
    }
    ended = true;
    if (!lost) {
      begin(how, now); // also if the longest run has ended it before: a late answer may be repeated
    }
  }

  private void begin(End how, long now) {
    phase = Phase.ENDING;
    end = how;
    failedWrites = 0;
    writeAt = now;
    // A claim that is to be released ends by itself after its time. An end is of no use after its
    // own.
    giveUpAt = how.isKept() ? now + times.retain() : heldUntil;
  }

  /** What is to be sent now; the caller reports what comes of it. To be called until NOTHING. */
  Command next(long now) {
    if (phase == Phase.HELD && now >= claimedAt + times.longestRun()) {
      if (entered) {
        begin(End.DONE, now); // the method may run still, so nothing else may
      } else {
        abandon(now);
      }
    }
    if (phase == Phase.ENDING && now >= giveUpAt) {
      lost = true;
      phase = Phase.OVER;
    }
    if (isRenewed() && !renewing && now >= renewAt) {
      renewing = true;
      renewAt = now + times.claim() / RENEWALS;
      return Command.RENEW;
    }
    if (phase == Phase.ENDING && writing == null && now >= writeAt) {
      writing = end;
      return Command.END;
    }
    return Command.NOTHING;
  }

  /** When {@link #next} is to be called again, unless something happens before. */
  long nextAt() {
    long next = phase == Phase.HELD ? claimedAt + times.longestRun() : giveUpAt;
    if (isRenewed() && !renewing) {
      next = Math.min(next, renewAt);
    }
    if (phase == Phase.ENDING && writing == null) {
      next = Math.min(next, writeAt);
    }
    return next;
  }

  /**
   * Until it is released: the method may run still, or its end is not in the store, which may be
   * refused it for longer than a claim lives, or is asked more and more rarely.
   */
  private boolean isRenewed() {
    return phase == Phase.HELD || (phase == Phase.ENDING && end != null && end.isKept());
  }

  /**
   * The store has answered a renewal.
   *
   * @param sentAt when it was sent
   */
  void renewed(boolean own, long sentAt) {
    renewing = false;
    if (own) {
      heldUntil = Math.max(heldUntil, sentAt + times.claim());
    } else if (phase == Phase.HELD) {
      lose();
    } else if (isRenewed()) {
      // An end whose reply was lost may have replaced the claim: to write it again shows that.
      writeAt = sentAt;
      renewAt = giveUpAt;
    }
  }

  /** The store has not answered a renewal. */
  void unrenewed(long now) {
    renewing = false;
    renewAt = Math.min(renewAt, now + Math.max(times.firstPause(), times.claim() / RETRIES));
  }

  /** The store has answered an end. */
  void written(boolean kept, long now) {
    boolean isLast = Objects.equals(writing, end);
    writing = null;
    if (!kept) {
      lose();
    } else if (isLast) {
      phase = Phase.OVER;
    } else {
      writeAt = now; // the method has ended meanwhile
    }
  }

  /** The store has not answered an end, or has refused it. */
  void unwritten(long now) {
    writing = null;
    failedWrites++;
    writeAt = now + times.pause(failedWrites);
  }

  /** An end that waits for its next write is written now. */
  void hurry(long now) {
    writeAt = Math.min(writeAt, now);
  }

  private void lose() {
    lost = true;
    phase = Phase.OVER;
  }
}
