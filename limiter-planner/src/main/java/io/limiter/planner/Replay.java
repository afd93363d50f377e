// SPDX-License-Identifier: Apache-2.0
package io.limiter.planner;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.Completion;
import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.RuleVerdict;
import io.limiter.core.StateKey;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.rule.Counting;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.planner.ReplayedRules.Placement;
import io.limiter.planner.ReplayedRules.Variant;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;

/**
 * What some rules would have denied of the calls of a log. The engine of the service decides,
 * {@link MemoryStore}, on a clock that shows the times of the log; it is empty when a subject
 * begins.
 *
 * @param rules the rules
 * @param least the replay with the fewest denials
 * @param most the replay with the most denials; the same unless the log has full seconds
 * @param certain whether the denials of the real times are between the two for certain
 */
public record Replay(ReplayedRules rules, Tally least, Tally most, boolean certain) {

  /**
   * The sums of one replay.
   *
   * @param calls all calls
   * @param denied calls that are denied
   * @param counted units that are counted in the end: those of admitted calls, without what is
   *     given back
   * @param subjects all subjects
   * @param deniedSubjects subjects with a denied call
   * @param longestWait the longest time until a denied call would pass, if it waited
   * @param longestDelay the longest time that a rule makes an admitted call wait
   * @param neverAdmitted denied calls that cost more than a rule ever admits
   * @param deniedByRule denied calls by the name of the rule that denies for the longest time
   * @param top the subjects that are denied most, at most {@value AccessLog#TOP}
   * @param overTime denials in slots of equal length
   * @param slot their length
   * @param redis what the rules would take of Redis
   */
  public record Tally(
      long calls,
      long denied,
      long counted,
      long subjects,
      long deniedSubjects,
      Duration longestWait,
      Duration longestDelay,
      long neverAdmitted,
      Map<String, Long> deniedByRule,
      List<DeniedSubject> top,
      List<Slot> overTime,
      Duration slot,
      RedisLoad redis) {

    /** The share of calls that are denied, 0 to 1. */
    public double share() {
      return calls == 0 ? 0 : (double) denied / calls;
    }
  }

  /**
   * A subject that is denied.
   *
   * @param name its name in what is written
   * @param calls its calls
   * @param denied those that are denied
   */
  public record DeniedSubject(String name, long calls, long denied) {}

  /**
   * The calls of some time.
   *
   * @param time its beginning
   * @param calls all calls
   * @param denied those that are denied
   */
  public record Slot(Instant time, long calls, long denied) {}

  /**
   * What the rules would take of Redis, without a deny cache and leases.
   *
   * @param commands one for each decision, and one for each admitted call that gives back its units
   * @param peakPerSecond the most decisions of a second
   * @param peakSubjects the most subjects with a key at one time
   * @param peakBytes about the most bytes of memory: 216 for each subject with its key, 37 for a
   *     ban, and 10 for each unit of a log
   */
  public record RedisLoad(long commands, long peakPerSecond, long peakSubjects, long peakBytes) {}

  static Replay of(AccessLog log, ReplayedRules rules) {
    List<Tally> tallies = new ArrayList<>();
    List<Variant> variants = rules.variants(log.calls().wholeSeconds());
    for (Variant variant : variants) {
      Run run = new Run(log, variant);
      log.visit(run);
      tallies.add(run.tally());
    }
    Comparator<Tally> byDenied = Comparator.comparingLong(Tally::denied);
    Tally most = tallies.stream().max(byDenied).orElseThrow();
    Tally least = tallies.stream().min(byDenied).orElseThrow();
    if (log.calls().wholeSeconds() && rules.isBounded() && variants.size() == 1) {
      least = none(most); // windows shorter than a second may contain one call each
    }
    boolean certain =
        !log.calls().wholeSeconds() || (rules.isBounded() && log.units() == log.summary().calls());
    return new Replay(rules, least, most, certain);
  }

  private static Tally none(Tally of) {
    return new Tally(
        of.calls(),
        0,
        of.calls(),
        of.subjects(),
        0,
        Duration.ZERO,
        Duration.ZERO,
        0,
        Map.of(),
        List.of(),
        of.overTime().stream().map(slot -> new Slot(slot.time(), slot.calls(), 0)).toList(),
        of.slot(),
        of.redis());
  }

  /** The engine, for one subject after another. */
  static final class Engine {

    private static final int MAX_PRICED = 64;

    private final MemoryStore store;
    private final List<StateKey> key;
    private final LimitRequest one;
    private final Map<Integer, LimitRequest> priced =
        new LinkedHashMap<>(MAX_PRICED, 0.75f, true) {
          private static final long serialVersionUID = 1L;

          @Override
          protected boolean removeEldestEntry(Map.Entry<Integer, LimitRequest> eldest) {
            return size() > MAX_PRICED;
          }
        };
    private final Counting counting;
    private long clockMicros;

    Engine(RuleStack stack) {
      // Few keys: the subject, and its ban.
      store = new MemoryStore(8, () -> clockMicros);
      Policy policy = new Policy("replay", "replay", List.of(stack), Optional.empty());
      one = LimitRequest.of(policy, new Subject("replayed", "subject"));
      key = List.of(one.charge(0).key());
      counting = stack.counting();
    }

    Verdict decide(long micros, int cost) {
      clockMicros = micros;
      LimitRequest request =
          cost == 1 ? one : priced.computeIfAbsent(cost, units -> one.withCost(units));
      return store.decide(request, Mode.ACQUIRE).toCompletableFuture().join();
    }

    /** Ends an admitted call. Returns whether it gives its units back. */
    boolean end(Verdict verdict, byte flags) {
      if (counting == Counting.ALL) {
        return false;
      }
      boolean failed = (flags & Spool.FAILED) != 0;
      Completion completion = failed ? Completion.failed() : Completion.succeeded();
      return verdict.reservation().settle(completion).toCompletableFuture().join() > 0;
    }

    /** Forgets the subject. */
    void forget() {
      store.reset(key).toCompletableFuture().join();
    }
  }

  /** Places the calls of one subject in their seconds, and passes them on. */
  abstract static class Placed {

    private final Placement placement;
    private final List<long[]> second = new ArrayList<>();
    private static final int MAX_TOGETHER = 100_000;

    Placed(Placement placement) {
      this.placement = placement;
    }

    final void place(long micros, int cost, byte flags) {
      switch (placement) {
        case AS_WRITTEN -> decide(micros, cost, flags);
        case MEETING -> {
          boolean odd = (micros / AccessLog.SECOND_MICROS & 1) == 1;
          decide(odd ? micros + AccessLog.SECOND_MICROS - 1 : micros, cost, flags);
        }
        case SPREAD -> {
          if (!second.isEmpty() && (second.get(0)[0] != micros || second.size() == MAX_TOGETHER)) {
            flush();
          }
          second.add(new long[] {micros, cost, flags});
        }
      }
    }

    final void flush() {
      for (int i = 0; i < second.size(); i++) {
        long[] call = second.get(i);
        decide(
            call[0] + AccessLog.SECOND_MICROS * i / second.size(), (int) call[1], (byte) call[2]);
      }
      second.clear();
    }

    abstract void decide(long micros, int cost, byte flags);
  }

  /** One replay of all subjects. */
  private static final class Run extends Placed implements Spool.Visitor {

    private static final int SUBJECT_BYTES = 216;
    private static final int BAN_BYTES = 37;
    private static final int UNIT_BYTES = 10;

    private record Denied(long subject, long calls, long denied) {}

    private final AccessLog log;
    private final Variant variant;
    private final Engine engine;
    private final long admits;
    private final List<long[]> sufficient;
    private final AccessLog.Timeline timeline;
    private final long[] deniedBySlot;
    private final Live live;
    private final boolean waits;
    private final Map<String, Long> byRule = new LinkedHashMap<>();
    private final PriorityQueue<Denied> top =
        new PriorityQueue<>(
            Comparator.comparingLong(Denied::denied).thenComparingLong(Denied::subject));

    private long subject;
    private long calls;
    private boolean decides;
    private long deniedOfSubject;

    private long subjects;
    private long denied;
    private long counted;
    private long deniedSubjects;
    private long waitMicros;
    private long delayMicros;
    private long never;
    private long givenBack;

    Run(AccessLog log, Variant variant) {
      super(variant.placement());
      this.log = log;
      this.variant = variant;
      this.engine = new Engine(variant.stack());
      // Calls that are given back are commands, and are not counted: their statuses decide.
      boolean all = variant.stack().counting() == Counting.ALL;
      this.admits = all ? variant.admits() : 0;
      this.sufficient =
          all
              ? variant.sufficient(AccessLog.counted(log.windows(), log.calls().wholeSeconds()))
              : List.of();
      this.timeline = log.calls().timeline();
      this.deniedBySlot = new long[timeline.calls.length];
      this.live = new Live(log.calls(), variant.stack());
      this.waits = variant.stack().waiting().isPresent();
      variant.stack().rules().forEach(rule -> byRule.put(rule.name(), 0L));
    }

    @Override
    public boolean begin(long who, long count, long units, long[] demand) {
      subject = who;
      calls = count;
      subjects++;
      deniedOfSubject = 0;
      decides = units > admits && !isNeverDenied(demand);
      return true;
    }

    /** The engine need not be asked about a subject that never makes so many calls. */
    private boolean isNeverDenied(long[] demand) {
      for (long[] enough : sufficient) {
        if (demand[(int) enough[0]] > enough[1]) {
          return false;
        }
      }
      return !sufficient.isEmpty();
    }

    @Override
    public void call(long micros, int cost, byte flags) {
      if (decides) {
        place(micros, cost, flags);
      } else {
        counted += cost;
        live.admitted(micros, cost);
      }
    }

    @Override
    void decide(long micros, int cost, byte flags) {
      Verdict verdict = engine.decide(micros, cost);
      if (verdict.allowed()) {
        if (waits) {
          delayMicros = Math.max(delayMicros, MICROSECONDS.convert(verdict.delay()));
        }
        if (engine.end(verdict, flags)) {
          givenBack++;
        } else {
          counted += cost;
          live.admitted(micros, cost);
        }
        return;
      }
      deniedOfSubject++;
      deniedBySlot[timeline.slot(Math.min(micros, log.calls().lastMicros()))]++;
      Optional<Duration> wait = verdict.retryAfter();
      if (wait.isPresent()) {
        waitMicros = Math.max(waitMicros, MICROSECONDS.convert(wait.get()));
      } else {
        never++;
      }
      String rule = verdict.denying().map(RuleVerdict::rule).map(Rule::name).orElse("ban");
      byRule.merge(rule, 1L, Long::sum);
    }

    @Override
    public void end() {
      if (decides) {
        flush();
        engine.forget();
      }
      live.end();
      if (deniedOfSubject > 0) {
        denied += deniedOfSubject;
        deniedSubjects++;
        top.add(new Denied(subject, calls, deniedOfSubject));
        if (top.size() > AccessLog.TOP) {
          top.remove();
        }
      }
    }

    Tally tally() {
      List<Denied> most = new ArrayList<>(top);
      most.sort(
          Comparator.comparingLong(Denied::denied).reversed().thenComparingLong(Denied::subject));
      Map<Long, String> names = log.names().of(most.stream().map(Denied::subject).toList());
      List<Slot> slots = new ArrayList<>();
      for (int s = 0; s < deniedBySlot.length; s++) {
        slots.add(new Slot(timeline.time(s), timeline.calls[s], deniedBySlot[s]));
      }
      long all = log.summary().calls();
      boolean bans = variant.stack().ban().isPresent();
      return new Tally(
          all,
          denied,
          counted,
          subjects,
          deniedSubjects,
          duration(waitMicros),
          duration(delayMicros),
          never,
          Map.copyOf(byRule),
          most.stream()
              .map(
                  one ->
                      new DeniedSubject(
                          names.getOrDefault(one.subject(), ""), one.calls(), one.denied()))
              .toList(),
          List.copyOf(slots),
          duration(timeline.slotMicros),
          new RedisLoad(
              all + givenBack,
              log.peakPerSecond(),
              live.peakSubjects(),
              live.peakBytes(SUBJECT_BYTES + (bans ? BAN_BYTES : 0), UNIT_BYTES)));
    }

    private static Duration duration(long micros) {
      return Duration.of(micros, ChronoUnit.MICROS);
    }
  }

  /** How many subjects and units of logs are stored over time. */
  private static final class Live {

    private static final int MAX_SLOTS = 100_000;

    private final long firstMicros;
    private final long slotMicros;
    private final long lifeMicros;
    private final long logMicros;

    /** How many more there are in a slot than in the one before. */
    private final long[] subjects;

    private final long[] units;
    private int until = -1;

    Live(AccessLog.Calls calls, RuleStack stack) {
      long longest = 0;
      for (int r = 0; r < stack.rules().size(); r++) {
        longest = Math.max(longest, stack.windowMicros(r));
      }
      // A key lives a sixteenth longer than it is needed.
      this.lifeMicros = longest + longest / 16 + AccessLog.SECOND_MICROS;
      this.logMicros = stack.logs() > 0 ? stack.horizonMicros() : 0;
      long span = calls.lastMicros() - calls.firstMicros() + 1;
      this.slotMicros = Math.max(AccessLog.SECOND_MICROS, span / MAX_SLOTS);
      this.firstMicros = calls.firstMicros();
      int slots = (int) (span / slotMicros) + 2;
      this.subjects = new long[slots + 1];
      this.units = new long[slots + 1];
    }

    private int slot(long micros) {
      return (int) Math.min((micros - firstMicros) / slotMicros, subjects.length - 2);
    }

    void admitted(long micros, int cost) {
      int from = slot(micros);
      if (from > until) {
        end();
        subjects[from]++;
      }
      until = Math.max(until, slot(micros + lifeMicros));
      if (logMicros > 0) {
        units[from] += cost;
        units[slot(micros + logMicros) + 1] -= cost;
      }
    }

    /** The subject has no more calls. */
    void end() {
      if (until >= 0) {
        subjects[until + 1]--;
        until = -1;
      }
    }

    long peakSubjects() {
      long now = 0;
      long peak = 0;
      for (long more : subjects) {
        now += more;
        peak = Math.max(peak, now);
      }
      return peak;
    }

    long peakBytes(int ofSubject, int ofUnit) {
      long some = 0;
      long logged = 0;
      long peak = 0;
      for (int s = 0; s < subjects.length; s++) {
        some += subjects[s];
        logged += units[s];
        peak = Math.max(peak, some * ofSubject + logged * ofUnit);
      }
      return peak;
    }
  }
}
