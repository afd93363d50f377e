// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * All that may happen to the claimed guard of a call, in every order: no other call begins while
 * its method runs, or before its time since its begin is over. What {@code hold.lua} and {@code
 * GuardedSubmissions} do is repeated here; their tests show that they do it. Time is counted in
 * ticks: each may bring a renewal, an end, another call, a crash or a reset, and a command may be
 * executed, executed without a reply, executed later, or lost.
 */
class ClaimModelTest {

  private static final int TIME = 7;
  private static final int CLAIM = 3;
  private static final int LONGEST = 12;
  private static final int FAULTS = 2;

  /** A step back, to show that the check depends on it. */
  private enum Mutation {
    NONE("nothing"),
    /** Units of a claimed guard leave the window, whatever its key's time to live. */
    WINDOW_DECIDES("while its method runs"),
    /** It is renewed for its time, from its begin on. */
    RENEWED_FOR_ITS_TIME("while its method runs"),
    /** A renewal sets the time to live, also if that is longer. */
    RENEWAL_SHORTENS("before its time is over"),
    /** An end leaves a time to live that is longer. */
    END_LENGTHENS("after its time"),
    /** An end whose reply does not arrive is not written again. */
    END_IS_WRITTEN_ONCE("before its time is over"),
    /** A command does not look whose unit it finds. */
    HOLDS_ANY("another's guard");

    final String breaks;

    Mutation(String breaks) {
      this.breaks = breaks;
    }
  }

  private static final class Broken extends RuntimeException {
    private static final long serialVersionUID = 1;

    Broken(String what) {
      super(what);
    }
  }

  private enum Run {
    RUNNING,
    KEPT,
    FAILED,
    CRASHED
  }

  /** A command that is executed at some later tick; its process no longer waits for it. */
  private record Late(boolean end, boolean release, int ticks) {}

  private static final class World implements Cloneable {

    private int now;
    private Run run = Run.RUNNING;
    private int expires = CLAIM; // the key; it belongs to the call unless the other one is in
    private boolean other;
    private boolean written; // the end, and its reply has arrived
    private int reached; // when the newest command was executed
    private int latest; // until when a command that came late may keep it
    private boolean lost; // by faults or a reset: nothing is promised from then on
    private int faults = FAULTS;
    private List<Late> late = List.of();

    World then(Consumer<World> change) {
      try {
        World copy = (World) clone();
        change.accept(copy);
        return copy;
      } catch (CloneNotSupportedException impossible) {
        throw new AssertionError(impossible);
      }
    }

    /** What {@code hold.lua} does. */
    void execute(Late command, Mutation mutation, boolean isLate) {
      if (now >= expires || other && mutation != Mutation.HOLDS_ANY) {
        return;
      }
      require(!other, "another's guard");
      int then = now + Math.max(0, command.ticks);
      boolean sets =
          command.end ? mutation != Mutation.END_LENGTHENS : mutation == Mutation.RENEWAL_SHORTENS;
      expires = command.release ? now : sets ? then : Math.max(expires, then);
      reached = now;
      latest = isLate ? Math.max(latest, expires) : latest;
    }

    List<World> sent(Late command, Mutation mutation) {
      List<World> all = new ArrayList<>();
      all.add(then(world -> world.execute(command, mutation, false)));
      all.get(0).written = command.end;
      if (faults > 0) {
        World unanswered = then(world -> world.faults--);
        unanswered.written = command.end && mutation == Mutation.END_IS_WRITTEN_ONCE;
        all.add(unanswered);
        all.add(unanswered.then(world -> world.execute(command, mutation, false)));
        all.add(unanswered.then(world -> world.late = add(late, command)));
      }
      return all;
    }

    private static List<Late> add(List<Late> some, Late one) {
      return Stream.concat(some.stream(), Stream.of(one)).toList();
    }

    /** What {@code GuardedSubmissions} sends: a renewal each third of the claim, then the end. */
    List<World> writes(Mutation mutation) {
      boolean stops = mutation == Mutation.RENEWED_FOR_ITS_TIME && now >= TIME;
      if (run == Run.CRASHED || written || run == Run.RUNNING && stops) {
        return List.of(this);
      }
      return run == Run.RUNNING
          ? sent(new Late(false, false, CLAIM), mutation)
          : sent(new Late(true, run == Run.FAILED, TIME - now), mutation);
    }

    /** Another call, which is denied, or takes the guard. */
    void ask(Mutation mutation) {
      boolean leftWindow = mutation == Mutation.WINDOW_DECIDES && now >= TIME;
      if (!other && now < expires && !leftWindow) {
        int over = run == Run.CRASHED ? reached + CLAIM : TIME;
        boolean ends = run == Run.CRASHED || run == Run.KEPT && written;
        require(!ends || now < Math.max(over, latest), "after its time");
      } else if (!other) {
        require(lost || run != Run.RUNNING, "while its method runs");
        require(lost || run != Run.KEPT || now >= TIME, "before its time is over");
        other = true;
        expires = now + CLAIM;
      }
    }

    private void require(boolean holds, String what) {
      if (!holds) {
        throw new Broken(what + ": " + this);
      }
    }

    /** Each world of the next tick. */
    Stream<World> next(Mutation mutation) {
      World later = then(world -> world.now++);
      later.lost |= later.now - reached >= CLAIM && !written && faults < FAULTS;
      World executed = later.then(world -> world.late = List.of());
      late.forEach(command -> executed.execute(command, mutation, true));
      List<World> all = new ArrayList<>();
      for (World world : late.isEmpty() ? List.of(later) : List.of(later, executed)) {
        all.add(world);
        if (run == Run.RUNNING) {
          for (Run end : List.of(Run.KEPT, Run.FAILED, Run.CRASHED)) {
            all.add(world.then(changed -> changed.run = end));
          }
        }
        World reset = world.then(changed -> changed.expires = other ? expires : 0);
        reset.lost = true;
        all.add(reset);
      }
      return all.stream()
          .flatMap(world -> world.writes(mutation).stream())
          .flatMap(world -> Stream.of(world, world.then(asked -> asked.ask(mutation))));
    }

    @Override
    public String toString() {
      return "now %s, %s, expires %s, other %s, written %s, reached %s, latest %s, lost %s, faults %s, %s"
          .formatted(now, run, expires, other, written, reached, latest, lost, faults, late);
    }
  }

  private static int explore(Mutation mutation) {
    Set<String> known = new HashSet<>();
    ArrayDeque<World> open = new ArrayDeque<>(List.of(new World()));
    while (!open.isEmpty()) {
      World world = open.remove();
      if (world.now < LONGEST) {
        world.next(mutation).filter(one -> known.add(one.toString())).forEach(open::add);
      }
    }
    return known.size();
  }

  @Test
  void noOtherCallBeginsBeforeTheLaterOfItsEndAndItsTime() {
    assertThat(explore(Mutation.NONE)).as("states").isGreaterThan(50_000);
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "NONE")
  void aStepBackIsMissed(Mutation mutation) {
    assertThatExceptionOfType(Broken.class)
        .isThrownBy(() -> explore(mutation))
        .withMessageContaining(mutation.breaks);
  }
}
