// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.Charge;
import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.LimitStore.SeenUse;
import io.limiter.core.LimitStore.SeenUse.PastUnits;
import io.limiter.core.LimitStore.SeenUse.RuleUse;
import io.limiter.core.Mode;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.Verdict;
import io.limiter.core.memory.StripedState.Stripe;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.state.Cell;
import io.limiter.core.state.Cells;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;

/**
 * Decides within this process, exactly as the Redis store decides over a network. Every stage that
 * it returns is complete. Calls block each other only while they write keys of the same stripe, for
 * less than a microsecond at usual counts. A call of one known key reads without a lock, so a
 * denied call or a peek blocks no other.
 *
 * <p><b>Bounded.</b> The store keeps about {@code maxSubjects} keys at most: one for each subject
 * of a limit key and class of calls that is counted, and one for each submission within the window
 * of a duplicate guard. A key takes about 250 bytes, plus 8 to 16 for each unit within the longest
 * window of a log (never more units than the largest count), plus 16 to 32 for each rule without a
 * log. Expired keys are removed while other keys are written. A live key is never evicted, since a
 * denied caller could otherwise get in by flooding the store with invented subjects. While there is
 * no room:
 *
 * <ul>
 *   <li>subjects with a key are served as usual;
 *   <li>new subjects share an overflow for each limit key and stripe: together they get what the
 *       rules allow a single one, and {@link #reset} does not free them;
 *   <li>a ban is kept all the same: there is room for as many bans as keys, in addition;
 *   <li>a new submission is not kept, so it is no duplicate: the limits hold, the duplicate guard
 *       does not.
 * </ul>
 */
public final class MemoryStore implements LimitStore {

  /** The default number of keys. */
  public static final int DEFAULT_MAX_SUBJECTS = 100_000;

  /** As in Redis, where a log's time to live is a second longer than its longest window. */
  private static final long GRACE_MICROS = 1_000_000;

  private final StripedState stripes;
  private volatile boolean closed;

  /** Creates a store for {@value #DEFAULT_MAX_SUBJECTS} keys. */
  public MemoryStore() {
    this(DEFAULT_MAX_SUBJECTS);
  }

  /**
   * Creates a store with a clock that cannot be set: the time of day at its creation, and {@link
   * System#nanoTime} from then on. Corrections of the wall clock make aligned windows drift from
   * it.
   */
  public MemoryStore(int maxSubjects) {
    this(maxSubjects, sinceNow());
  }

  /**
   * @param maxSubjects the most keys, 1 or more
   * @param clockMicros the clock in microseconds since the epoch. Aligned windows depend on it; for
   *     other rules its origin is irrelevant. If it is set back, no subject is denied for longer
   *     than the longest window, or than a ban lasts
   */
  public MemoryStore(int maxSubjects, LongSupplier clockMicros) {
    this(maxSubjects, clockMicros, GRACE_MICROS);
  }

  MemoryStore(int maxSubjects, LongSupplier clockMicros, long graceMicros) {
    if (maxSubjects < 1) {
      throw new IllegalArgumentException(
          "A memory store for %s subjects: use 1 or more".formatted(maxSubjects));
    }
    stripes = new StripedState(maxSubjects, clockMicros, graceMicros);
  }

  @Override
  public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
    if (closed) {
      return failure();
    }
    try {
      return CompletableFuture.completedFuture(new MemoryDecision(request, mode, stripes).decide());
    } catch (StoreException algorithmFailed) {
      return CompletableFuture.failedFuture(algorithmFailed);
    }
  }

  @Override
  public CompletionStage<Grant> lease(LimitRequest units, Duration time) {
    return closed
        ? failure()
        : CompletableFuture.completedFuture(
            MemoryDecision.lease(units, MICROSECONDS.convert(time), stripes));
  }

  /** Does nothing if there is no room for the key. */
  @Override
  public void adopt(Charge charge, SeenUse known) {
    Stripe subjects = stripes.of(charge.key());
    var unused =
        stripes.locked(
            subjects.bit,
            clockMicros -> {
              StateKey banKey = charge.key().ban();
              subjects.remove(charge.key());
              subjects.remove(banKey);
              UnitLog log = new UnitLog(subjects, charge.key());
              if (!subjects.full()
                  && !closed
                  && AdoptedState.fill(log, charge, known, clockMicros)) {
                subjects.keep(log, clockMicros);
              }
              if (known.bannedMicros() > 0 && charge.stack().ban().isPresent() && !closed) {
                new BanEvaluation(charge.stack().ban().get(), subjects, banKey, clockMicros)
                    .adopt(clockMicros - known.ageMicros(), known.bannedMicros(), clockMicros);
              }
              return 0;
            });
  }

  @Override
  public CompletionStage<Void> reset(Collection<StateKey> keys) {
    return remove(keys, true);
  }

  /** The bans of new subjects that share an overflow stay. */
  @Override
  public CompletionStage<Void> liftBans(Collection<StateKey> keys) {
    return remove(keys, false);
  }

  /**
   * @param counts whether to remove what was counted too, or only the bans
   */
  private CompletionStage<Void> remove(Collection<StateKey> keys, boolean counts) {
    if (closed) {
      return failure();
    }
    for (StateKey key : keys) {
      Stripe subjects = stripes.of(key);
      subjects.lock();
      try {
        if (counts) {
          subjects.remove(key);
        }
        subjects.remove(key.ban());
      } finally {
        subjects.unlock();
      }
    }
    return CompletableFuture.completedFuture(null);
  }

  /** The number of keys, including expired ones that have not been removed yet. */
  public int subjects() {
    int sum = 0;
    for (Stripe subjects : stripes.all()) {
      sum += (int) stripes.locked(subjects.bit, clockMicros -> subjects.size());
    }
    return sum;
  }

  /** The state of a key, for tests. */
  Optional<String> dump(StateKey key) {
    Stripe subjects = stripes.of(key);
    subjects.lock();
    try {
      return Optional.ofNullable(subjects.peek(key)).map(UnitLog::toString);
    } finally {
      subjects.unlock();
    }
  }

  @Override
  public void close() {
    closed = true;
    for (Stripe subjects : stripes.all()) {
      subjects.lock();
      try {
        subjects.clear();
        subjects.overflows.clear();
      } finally {
        subjects.unlock();
      }
    }
  }

  private static <T> CompletionStage<T> failure() {
    return CompletableFuture.failedFuture(
        new StoreException(FailureReason.DISCONNECTED, "The memory store is closed", null));
  }

  private static LongSupplier sinceNow() {
    long start = System.nanoTime();
    long wall = ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
    return () -> wall + (System.nanoTime() - start) / 1_000;
  }

  /**
   * Builds the state of a key from the verdict of another store, so that this store never admits
   * more than the other would. A verdict does not contain the time of each unit of a log: those
   * that come back first are as old as the verdict implies, and all others are taken to be as young
   * as possible.
   */
  static final class AdoptedState {

    private final SeenUse known;
    private final long clockMicros;
    private final long decidedMicros;
    private final RuleStack stack;
    private final List<Rule> rules;

    /** The time of the last write; {@link Long#MIN_VALUE} if there is none. */
    private long newestMicros;

    private AdoptedState(Charge charge, SeenUse known, long clockMicros) {
      this.known = known;
      this.clockMicros = clockMicros;
      this.decidedMicros = clockMicros - known.ageMicros();
      this.newestMicros = known.rules().isEmpty() ? Long.MIN_VALUE : decidedMicros;
      this.stack = charge.stack();
      this.rules = charge.stack().rules();
    }

    /** Fills a log without units. Returns false if nothing is used. */
    static boolean fill(UnitLog log, Charge charge, SeenUse known, long clockMicros) {
      return new AdoptedState(charge, known, clockMicros).fill(log);
    }

    private boolean fill(UnitLog log) {
      if (stack.logs() > 0) {
        List<PastUnits> units = new ArrayList<>(known.rules().isEmpty() ? List.of() : logged());
        units.addAll(known.since());
        units.sort(Comparator.comparingLong(PastUnits::ageMicros).reversed());
        for (PastUnits some : units) {
          long stampMicros = clockMicros - some.ageMicros(); // in the future for units of a lease
          newestMicros = Math.min(clockMicros, stampMicros);
          int kept = (int) Math.min(stack.kept(), some.units());
          var unused =
              log.take(newestMicros, stampMicros, kept, stack.kept(), stack.horizonMicros());
        }
      }
      if (stack.cells() > 0) {
        count(log);
      }
      if (newestMicros == Long.MIN_VALUE) {
        return false;
      }
      log.wrote(newestMicros, 0);
      return log.size() > 0 || log.hasNumbers();
    }

    /** The units of the log, by their current age. */
    private List<PastUnits> logged() {
      int[] byWindow =
          IntStream.range(0, rules.size())
              .filter(stack::isLog)
              .boxed()
              .sorted(Comparator.comparingLong(stack::windowMicros))
              .mapToInt(r -> r)
              .toArray();
      List<PastUnits> units = new ArrayList<>();
      long counted = 0;
      // The newest of all units determines when a rule resets.
      int shortest = byWindow[0];
      long resets = known.rules().get(shortest).resetsAfterMicros();
      long youngest = stack.windowMicros(shortest) - resets; // below 0 for units of a lease
      for (int r : byWindow) {
        RuleUse use = known.rules().get(r);
        long window = stack.windowMicros(r);
        long more = Math.max(0, used(r) - counted);
        long first = Math.min(more, Math.max(1, use.returning()));
        add(units, Math.max(youngest, window - use.returnsAfterMicros()), first);
        add(units, youngest, more - first);
        counted += more;
        // Units that only a longer window counts are older than this one.
        youngest = Math.max(youngest, window);
      }
      return units;
    }

    private void add(List<PastUnits> units, long ageThenMicros, long some) {
      if (some > 0) {
        units.add(new PastUnits(known.ageMicros() + ageThenMicros, some));
      }
    }

    private long used(int rule) {
      return Math.max(0, rules.get(rule).capacity() - known.rules().get(rule).remaining());
    }

    /** Sets the numbers of the rules without a log. */
    private void count(UnitLog log) {
      Cells cells = log.cells(stack);
      long[] numbers = cells.unused().clone();
      for (int r = 0; r < rules.size(); r++) {
        if (stack.isLog(r)) {
          continue;
        }
        Cell cell = cells.get(stack.cellIndex(r));
        if (!known.rules().isEmpty() && used(r) > 0) {
          RuleUse use = known.rules().get(r);
          cell.use(
              numbers, used(r), decidedMicros, use.returnsAfterMicros(), use.resetsAfterMicros());
        }
        for (PastUnits some : known.since()) {
          long atMicros = Math.max(decidedMicros, clockMicros - some.ageMicros());
          if (atMicros > decidedMicros) {
            cell.record(numbers, atMicros, some.units());
          } else {
            cell.recordEarlier(numbers, decidedMicros, some.units());
          }
          newestMicros = Math.max(newestMicros, atMicros);
        }
      }
      log.remember(cells, numbers, decidedMicros);
    }
  }
}
