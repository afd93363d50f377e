// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import io.limiter.core.StateKey;
import io.limiter.idempotency.Holding.Command;
import io.limiter.idempotency.Holding.Phase;
import io.limiter.idempotency.Holding.Times;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;

/**
 * One key in a store, and submissions by two processes over a network that loses, delays and
 * refuses. What processes and store do is the code of the module ({@link Holding}, {@link Entry});
 * everything else is a choice, and {@link #next} has all of them. Time is counted in ticks.
 */
final class World {

  static final int CLAIM = 3;
  static final int RETAIN = 4;
  static final int LONGEST_RUN = 4;
  static final Times TIMES = new Times(CLAIM, RETAIN, LONGEST_RUN, 1, 4);

  private static final StateKey KEY = new StateKey("tag", "a.key");
  private static final byte[] HEAD = {1};

  /** A guard that is taken away, to show that the check depends on it. */
  enum Mutation {
    /** An end does not look whose claim it finds. */
    ENDS_ANY_CLAIM("two runs at a time"),
    /** Renewals stop when the method has ended. */
    ENDING_IS_NOT_RENEWED("a second run after an end"),
    /** An end is written once. */
    END_IS_WRITTEN_ONCE("a second run after an end"),
    /** The end of a response releases the key, although the method runs. */
    RESPONSE_RELEASES("two runs at a time"),
    /** A method begins without a look at the age of its claim. */
    ENTERS_LATE("two runs at a time"),
    /** A method that never ends is forgotten. */
    LONGEST_RUN_RELEASES("two runs at a time");

    /** What happens then. */
    final String breaks;

    Mutation(String breaks) {
      this.breaks = breaks;
    }
  }

  private enum Run {
    NONE,
    RUNNING,
    ENDED,
    CRASHED
  }

  /** One attempt to run the submission. */
  private static final class Attempt {
    Holding holding;
    Run run = Run.NONE;
    boolean answers;

    /** Until when no other may run: what the promise is about. */
    int protectedUntil;

    /** Until when its end is kept, from when the store has it. */
    int storedUntil;

    /** Renewals that were sent, and did not run, since one ran. */
    int missed;

    /** Its claim has expired since its process did not reach the store: no promise is left. */
    boolean unreached;

    Attempt copy() {
      Attempt copy = new Attempt();
      copy.holding = holding == null ? null : copy(holding);
      copy.run = run;
      copy.answers = answers;
      copy.protectedUntil = protectedUntil;
      copy.storedUntil = storedUntil;
      copy.missed = missed;
      copy.unreached = unreached;
      return copy;
    }

    private static Holding copy(Holding from) {
      Holding copy = new Holding(from.times, from.claimedAt);
      copy.phase = from.phase;
      copy.entered = from.entered;
      copy.ended = from.ended;
      copy.lost = from.lost;
      copy.end = from.end;
      copy.heldUntil = from.heldUntil;
      copy.renewAt = from.renewAt;
      copy.renewing = from.renewing;
      copy.writeAt = from.writeAt;
      copy.giveUpAt = from.giveUpAt;
      copy.writing = from.writing;
      copy.failedWrites = from.failedWrites;
      return copy;
    }
  }

  private enum Sort {
    CLAIM,
    RENEW,
    END
  }

  /**
   * A command on its way.
   *
   * @param isNew whether nothing is decided about it
   * @param isAwaited whether its process waits for the reply
   * @param reply what the store has answered, if it has run: 1 or 0; else -1
   */
  private record Sent(
      int by, Sort sort, End end, int at, boolean isNew, boolean isAwaited, int reply) {

    Sent(int by, Sort sort, End end, int at) {
      this(by, sort, end, at, true, true, -1);
    }

    Sent ran(boolean found) {
      return new Sent(by, sort, end, at, false, isAwaited, found ? 1 : 0);
    }

    Sent slow() {
      return new Sent(by, sort, end, at, false, true, reply);
    }

    Sent abandoned() {
      return new Sent(by, sort, end, at, false, false, reply);
    }
  }

  private static final byte[][] TOKENS = texts("token");
  private static final End[] ANSWERS = answers();

  private final Set<Mutation> mutations;
  private int now;
  private Entry entry;
  private int expiresAt;
  private final Attempt[] attempts;
  private final List<Sent> network = new ArrayList<>();
  private int faults;
  private int crashes;

  private final Step last;

  /** What has happened, for the message. */
  private record Step(Step before, int now, String what) {}

  World(int attempts, int faults, int crashes, Set<Mutation> mutations) {
    this.mutations = mutations;
    this.attempts = new Attempt[attempts];
    for (int i = 0; i < attempts; i++) {
      this.attempts[i] = new Attempt();
    }
    this.faults = faults;
    this.crashes = crashes;
    this.last = null;
  }

  private World(World from, String step) {
    this.mutations = from.mutations;
    this.now = from.now;
    this.entry = from.entry;
    this.expiresAt = from.expiresAt;
    this.attempts = new Attempt[from.attempts.length];
    for (int i = 0; i < attempts.length; i++) {
      attempts[i] = from.attempts[i].copy();
    }
    this.network.addAll(from.network);
    this.faults = from.faults;
    this.crashes = from.crashes;
    this.last = new Step(from.last, from.now, step);
  }

  private static byte[][] texts(String text) {
    byte[][] texts = new byte[4][];
    for (int i = 0; i < texts.length; i++) {
      texts[i] = (text + i).getBytes(StandardCharsets.US_ASCII);
    }
    return texts;
  }

  private static End[] answers() {
    byte[][] texts = texts("answer");
    End[] answers = new End[texts.length];
    for (int i = 0; i < texts.length; i++) {
      answers[i] = End.answer(texts[i]);
    }
    return answers;
  }

  private static Claim claim(int by) {
    return new Claim(KEY, TOKENS[by], HEAD, Entry.NONE);
  }

  /**
   * All that may happen next. A command is answered at once, unless there is a fault; so there are
   * as few orders as possible in which the same comes about.
   */
  void next(Consumer<World> found) {
    for (int i = 0; i < network.size(); i++) {
      if (network.get(i).isNew) {
        command(i, found);
        return;
      }
    }
    for (int i = 0; i < network.size(); i++) {
      command(i, found);
    }
    for (int i = 0; i < attempts.length; i++) {
      choices(i, found);
    }
    for (int process = 0; process < 2 && crashes > 0; process++) {
      int of = process;
      step(found, null, "process " + of + " crashes", world -> world.crash(of));
    }
    if (network.stream().noneMatch(sent -> sent.isAwaited && sent.at < now)) {
      step(found, null, "tick", World::tick);
    }
  }

  private void command(int i, Consumer<World> found) {
    Sent sent = network.get(i);
    if (sent.reply >= 0) {
      step(found, sent, "is answered", world -> world.answered(i));
      return;
    }
    if (!sent.isNew) {
      step(found, sent, "runs late", world -> world.run(i));
    }
    if (!sent.isAwaited) {
      return;
    }
    step(
        found,
        sent,
        "runs",
        world -> {
          world.run(i);
          world.answered(i);
        });
    if (faults > 0) {
      step(found, sent, "is lost or refused", world -> world.fault(i, false));
      step(found, sent, "is given up", world -> world.fault(i, true));
      step(
          found,
          sent,
          "runs, and its reply is lost",
          world -> {
            world.run(i);
            world.fault(i, false);
          });
    }
    if (sent.isNew && faults > 0) {
      step(
          found,
          sent,
          "is slow",
          world -> {
            world.faults--;
            world.network.set(i, world.network.get(i).slow());
          });
    }
  }

  private void choices(int i, Consumer<World> found) {
    Attempt attempt = attempts[i];
    Holding holding = attempt.holding;
    boolean hasCommands = network.stream().anyMatch(sent -> sent.by == i);
    boolean isNew = holding == null && attempt.run == Run.NONE;
    boolean mayAskAgain = // as a repetition that waits does; without a trace of the earlier one
        holding != null
            && holding.phase == Phase.OVER
            && !holding.entered
            && !hasCommands
            && (entry == null || !entry.isOf(claim(i)));
    if (isNew || mayAskAgain) {
      step(found, null, i + " claims", world -> world.start(i));
    }
    if (holding == null) {
      return;
    }
    if (attempt.run == Run.NONE && holding.phase == Phase.HELD) {
      step(found, null, i + " enters", world -> world.enter(i));
    }
    if (!holding.entered && !holding.ended && holding.phase != Phase.OVER) {
      step(found, null, i + " is denied or gone", world -> world.abandon(i));
    }
    if (attempt.run == Run.RUNNING) {
      step(found, null, i + " ends with an answer", world -> world.end(i, ANSWERS[i]));
      step(found, null, i + " ends done", world -> world.end(i, End.DONE));
      step(found, null, i + " ends for repetition", world -> world.end(i, End.RELEASE));
      if (mutations.contains(Mutation.RESPONSE_RELEASES)) {
        step(found, null, i + "'s response ends", world -> world.responseEnds(i));
      }
    }
  }

  private void step(Consumer<World> found, Sent sent, String what, Consumer<World> change) {
    World world = new World(this, sent == null ? what : sent.by + "'s " + sent.sort + ' ' + what);
    change.accept(world);
    for (int i = 0; i < attempts.length; i++) {
      world.pump(i);
    }
    world.check();
    found.accept(world);
  }

  private void start(int i) {
    attempts[i] = new Attempt();
    attempts[i].holding = new Holding(TIMES, now);
    network.add(new Sent(i, Sort.CLAIM, null, now));
  }

  private void enter(int i) {
    Attempt attempt = attempts[i];
    boolean entered = attempt.holding.enter(now);
    if (!entered && mutations.contains(Mutation.ENTERS_LATE)) {
      attempt.holding.entered = true;
      entered = true;
    }
    if (!entered) {
      return;
    }
    attempt.run = Run.RUNNING;
    attempt.protectedUntil = (int) attempt.holding.claimedAt + LONGEST_RUN + RETAIN;
    for (int j = 0; j < attempts.length; j++) {
      Attempt other = attempts[j];
      if (j != i && now < other.storedUntil) {
        throw new Violation("a second run after an end was stored", this);
      }
      if (j != i && now < other.protectedUntil && !other.unreached) {
        throw new Violation(
            other.run == Run.RUNNING ? "two runs at a time" : "a second run after an end", this);
      }
    }
  }

  private void abandon(int i) {
    attempts[i].holding.abandon(now);
  }

  private void end(int i, End end) {
    Attempt attempt = attempts[i];
    attempt.run = Run.ENDED;
    attempt.answers = end.kind() == End.Kind.ANSWER;
    boolean inTime = now < attempt.holding.claimedAt + LONGEST_RUN;
    if (!end.isKept()) {
      attempt.protectedUntil = 0;
    } else if (inTime) {
      attempt.protectedUntil = now + RETAIN;
    }
    attempt.holding.ended(end, now);
    if (!attempt.holding.ended) {
      throw new Violation("the machine has not taken the end at once", this);
    }
  }

  private void responseEnds(int i) {
    Holding holding = attempts[i].holding;
    holding.phase = Phase.ENDING;
    holding.end = End.RELEASE;
    holding.giveUpAt = holding.heldUntil;
    holding.ended = true;
  }

  private void crash(int process) {
    crashes--;
    for (int i = process; i < attempts.length; i += 2) {
      Attempt attempt = attempts[i];
      if (attempt.holding != null) {
        attempt.holding = null;
        attempt.run = Run.CRASHED;
        attempt.protectedUntil = 0;
      }
    }
    network.removeIf(sent -> sent.by % 2 == process && sent.reply >= 0);
    network.replaceAll(sent -> sent.by % 2 == process ? sent.abandoned() : sent);
  }

  private void tick() {
    now++;
    if (entry != null && now >= expiresAt) {
      for (int i = 0; i < attempts.length; i++) {
        // All renewals within the time of a claim have failed, not because they were not sent.
        if (entry.isOf(claim(i)) && attempts[i].missed >= 2) {
          attempts[i].unreached = true;
        }
      }
      entry = null;
    }
  }

  private void pump(int i) {
    Attempt attempt = attempts[i];
    Holding holding = attempt.holding;
    while (holding != null) {
      if (mutations.contains(Mutation.LONGEST_RUN_RELEASES)
          && holding.phase == Phase.HELD
          && now >= holding.claimedAt + LONGEST_RUN) {
        holding.phase = Phase.OVER;
      }
      Command command = holding.next(now);
      if (command == Command.NOTHING) {
        return;
      }
      if (command == Command.RENEW) {
        if (holding.phase == Phase.ENDING && mutations.contains(Mutation.ENDING_IS_NOT_RENEWED)) {
          holding.unrenewed(now);
          continue;
        }
        attempt.missed++;
        network.add(new Sent(i, Sort.RENEW, null, now));
      } else {
        network.add(new Sent(i, Sort.END, holding.writing, now));
      }
    }
  }

  /** A command runs in the store. */
  private void run(int at) {
    Sent sent = network.remove(at);
    Claim claim = claim(sent.by);
    Attempt attempt = attempts[sent.by];
    boolean found = false;
    Entry earlier = entry;
    switch (sent.sort) {
      case CLAIM -> {
        if (entry == null) {
          entry = Entry.of(claim);
          expiresAt = now + CLAIM;
          attempt.missed = 0;
          found = true;
        } else if (entry.compare(claim) == Found.Kind.DIFFERENT) {
          throw new Violation("an equal submission differs", this);
        }
      }
      case RENEW -> {
        Entry renewed = entry == null ? null : entry.renewed(claim);
        if (renewed != null) {
          entry = renewed;
          expiresAt = now + CLAIM;
          attempt.missed = 0;
          found = true;
        }
      }
      case END -> {
        Claim as =
            entry != null && mutations.contains(Mutation.ENDS_ANY_CLAIM)
                ? new Claim(KEY, entry.token(), HEAD, Entry.NONE)
                : claim;
        Entry.Change change =
            entry == null
                ? new Entry.Change(Entry.Kept.LOST, false, null)
                : entry.end(as, sent.end, true);
        found = change.kept() != Entry.Kept.LOST;
        if (change.isWritten()) {
          entry = change.next();
          expiresAt = now + RETAIN;
          attempt.storedUntil = entry != null && entry.isOf(claim) ? expiresAt : 0;
        }
      }
    }
    boolean isForeign = earlier != null && !earlier.isOf(claim);
    if (isForeign && entry != earlier && mutations.isEmpty()) {
      throw new Violation("a command has changed the value of another claim", this);
    }
    if (sent.isAwaited) {
      network.add(at, sent.ran(found));
    }
  }

  private void answered(int at) {
    Sent sent = network.remove(at);
    Holding holding = attempts[sent.by].holding;
    switch (sent.sort) {
      case CLAIM -> holding.claimed(sent.reply == 1, now);
      case RENEW -> holding.renewed(sent.reply == 1, sent.at);
      case END -> holding.written(sent.reply == 1, now);
    }
  }

  /** The process learns nothing of a command, which is gone, or may run later. */
  private void fault(int at, boolean mayRunLater) {
    faults--;
    Sent sent = network.remove(at);
    if (mayRunLater) {
      network.add(at, sent.abandoned());
    }
    Holding holding = attempts[sent.by].holding;
    switch (sent.sort) {
      case CLAIM -> holding.unclaimed(true, now);
      case RENEW -> holding.unrenewed(now);
      case END -> {
        holding.unwritten(now);
        if (mutations.contains(Mutation.END_IS_WRITTEN_ONCE)) {
          holding.phase = Phase.OVER;
        }
      }
    }
  }

  private void check() {
    if (entry != null && (expiresAt <= now || expiresAt > now + Math.max(CLAIM, RETAIN))) {
      throw new Violation("a value without a bounded life", this);
    }
    for (Attempt attempt : attempts) {
      Holding holding = attempt.holding;
      if (holding == null || !mutations.isEmpty()) {
        continue;
      }
      if (holding.phase == Phase.HELD && now >= holding.claimedAt + LONGEST_RUN) {
        throw new Violation("a claim is held longer than the longest run", this);
      }
      if (holding.phase == Phase.ENDING && now >= holding.giveUpAt) {
        throw new Violation("an end is written for ever", this);
      }
      if (holding.phase != Phase.OVER
          && holding.phase != Phase.CLAIMING
          && holding.nextAt() <= now) {
        throw new Violation("something is due, and not done", this);
      }
    }
    if (entry != null && entry.state() == Entry.State.ANSWERED && mutations.isEmpty()) {
      for (int i = 0; i < attempts.length; i++) {
        Attempt attempt = attempts[i];
        boolean isOwn = entry.isOf(claim(i));
        if (isOwn != (entry.answer() == ANSWERS[i].answer()) || (isOwn && !attempt.answers)) {
          throw new Violation("an answer that its method has not given", this);
        }
      }
    }
  }

  /** Equal for two worlds in which the same may happen, at whatever time. */
  String key() {
    StringBuilder key = new StringBuilder(120);
    if (entry != null) {
      key.append(entry.state().letter)
          .append((char) entry.token()[entry.token().length - 1])
          .append(expiresAt - now);
    }
    key.append('f').append(faults).append('c').append(crashes);
    for (Attempt attempt : attempts) {
      append(key.append('|'), attempt);
    }
    for (Sent sent : network) {
      key.append('/').append(sent.by).append(sent.sort.ordinal()).append(kind(sent.end));
      key.append(sent.isNew ? 'n' : sent.isAwaited ? 's' : 'l').append(sent.reply);
      key.append(sent.isAwaited ? now - sent.at : 9);
    }
    return key.toString();
  }

  /** Only what still matters. */
  private void append(StringBuilder key, Attempt attempt) {
    Holding holding = attempt.holding;
    key.append(attempt.run.ordinal());
    if (attempt.run != Run.NONE) {
      key.append(flags(attempt.unreached, attempt.answers));
      append(key, attempt.unreached && attempt.run != Run.RUNNING ? 0 : attempt.protectedUntil);
      append(key, attempt.storedUntil);
    }
    if (holding == null) {
      return;
    }
    key.append('h').append(holding.phase.ordinal());
    key.append(flags(holding.entered, holding.ended, holding.lost));
    if (!holding.ended) {
      append(key, holding.claimedAt + LONGEST_RUN);
    }
    if (!holding.entered && holding.phase != Phase.OVER) {
      append(key, holding.heldUntil);
    }
    if (holding.phase != Phase.OVER) {
      key.append(Math.min(2, attempt.missed));
      append(key, holding.renewAt);
      key.append(holding.renewing ? 'r' : ' ');
    }
    if (holding.phase == Phase.ENDING) {
      key.append(kind(holding.end)).append(kind(holding.writing)).append(holding.failedWrites);
      append(key, holding.writeAt);
      append(key, holding.giveUpAt);
    }
  }

  private static int flags(boolean... flags) {
    int all = 0;
    for (boolean flag : flags) {
      all = 2 * all + (flag ? 1 : 0);
    }
    return all;
  }

  private void append(StringBuilder key, long time) {
    key.append(Math.max(-1, time - now)).append(',');
  }

  private static int kind(End end) {
    return end == null ? 9 : end.kind().ordinal();
  }

  /** A promise that is broken, with the way there. */
  static final class Violation extends AssertionError {

    private static final long serialVersionUID = 1L;

    Violation(String what, World where) {
      super(what + way(where));
    }

    private static String way(World where) {
      List<String> steps = new ArrayList<>();
      for (Step step = where.last; step != null; step = step.before) {
        steps.add(0, "\n  " + step.now + ": " + step.what);
      }
      return String.join("", steps);
    }
  }
}
