// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.lettuce.core.cluster.SlotHash;
import io.limiter.core.Charge;
import io.limiter.core.FailureReason;
import io.limiter.core.Mode;
import io.limiter.core.StoreException;
import io.limiter.core.redis.connection.RedisFailures;
import io.limiter.core.redis.wire.ChargeReply;
import io.limiter.core.redis.wire.EncodedCall;
import io.limiter.core.redis.wire.TakenUnits;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.IntStream;

/**
 * One call whose keys are in several slots, decided within one deadline. It takes from one part
 * after another. If a part denies, it gives back what was taken before and only peeks at the rest,
 * so that the verdict contains every rule. No subject ever gets more than its rules allow. But
 * units held temporarily may deny another call of the same subject at that moment, and units that
 * cannot be given back, because their node has just been lost, are gone until their windows end.
 */
final class MultiSlotDecision {

  private final RedisStore store;
  private final EncodedCall call;
  private final ScriptCall.Time time;

  /** By the index of the charge; complete once all parts are answered. */
  private final ChargeReply[] replies;

  private final List<int[]> taken = new ArrayList<>();

  MultiSlotDecision(RedisStore store, EncodedCall call, ScriptCall.Time time) {
    this.store = store;
    this.call = call;
    this.time = time;
    this.replies = new ChargeReply[call.size()];
  }

  static CompletionStage<ChargeReply[]> decide(
      RedisStore store, EncodedCall call, List<int[]> parts, ScriptCall.Time time) {
    MultiSlotDecision decision = new MultiSlotDecision(store, call, time);
    CompletionStage<Void> decided =
        call.mode() == Mode.ACQUIRE
            ? decision.take(new ArrayDeque<>(parts))
            : decision.ask(parts, call.mode());
    return decided.thenApply(done -> decision.replies);
  }

  private void add(int[] part, ChargeReply[] found) {
    for (int i = 0; i < part.length; i++) {
      replies[part[i]] = found[i];
    }
  }

  private CompletionStage<Void> take(Deque<int[]> rest) {
    int[] part = rest.poll();
    if (part == null) {
      return CompletableFuture.completedFuture(null);
    }
    return run(part, Mode.ACQUIRE)
        .handle(
            (found, failure) ->
                failure == null ? took(part, found, rest) : failed(part, failure, rest))
        .thenCompose(next -> next);
  }

  private CompletionStage<Void> took(int[] part, ChargeReply[] found, Deque<int[]> rest) {
    add(part, found);
    if (denies(part, found)) {
      return ask(rest, Mode.PEEK).thenCombine(whenGivenBack(), (asked, back) -> null);
    }
    taken.add(part);
    return take(rest);
  }

  private boolean denies(int[] part, ChargeReply[] found) {
    for (int i = 0; i < part.length; i++) {
      if (!found[i].admits() && !call.charge(part[i]).observed()) {
        return true;
      }
    }
    return false;
  }

  private CompletionStage<Void> failed(int[] part, Throwable failure, Deque<int[]> rest) {
    if (isDivisible(part, failure)) {
      List<int[]> singles = SlotGroups.oneByOne(call, part);
      for (int i = singles.size() - 1; i >= 0; i--) {
        rest.push(singles.get(i));
      }
      return take(rest);
    }
    var unused = giveBack(time.again()); // the call does not wait for it: the fallback decides
    return CompletableFuture.failedFuture(RedisFailures.unwrap(failure));
  }

  private static boolean isDivisible(int[] part, Throwable failure) {
    return part.length > 1 && RedisNodes.Division.SLOT_MOVING.isCauseOf(failure);
  }

  /**
   * Completes within the remaining time: the call is denied whether or not the units could be given
   * back. The refunds are sent in any case.
   */
  private CompletionStage<Void> whenGivenBack() {
    return giveBack(time).handle((units, failure) -> null);
  }

  private CompletionStage<Long> giveBack(ScriptCall.Time within) {
    List<TakenUnits> units = new ArrayList<>();
    for (int[] part : taken) {
      for (int index : part) {
        if (replies[index].admits()) {
          units.add(replies[index].taken(call.charge(index).cost(), 0));
        }
      }
    }
    return units.isEmpty()
        ? CompletableFuture.completedFuture(0L)
        : store.units().refund(units, within);
  }

  /** Asks all parts at once: peeking and recording need no order. */
  private CompletionStage<Void> ask(Collection<int[]> parts, Mode mode) {
    return CompletableFuture.allOf(
        parts.stream()
            .map(part -> ask(part, mode).toCompletableFuture())
            .toArray(CompletableFuture[]::new));
  }

  private CompletionStage<Void> ask(int[] part, Mode mode) {
    return run(part, mode)
        .thenAccept(found -> add(part, found))
        .exceptionallyCompose(
            failure ->
                isDivisible(part, failure)
                    ? ask(SlotGroups.oneByOne(call, part), mode)
                    : CompletableFuture.failedFuture(failure));
  }

  private CompletionStage<ChargeReply[]> run(int[] part, Mode mode) {
    if (time.leftNanos() <= 0) {
      return CompletableFuture.failedFuture(
          new StoreException(
              FailureReason.TIMEOUT,
              "Redis did not answer within " + time.deadline().toMillis() + " ms",
              null));
    }
    return store.decide(call.part(part, mode), time);
  }

  /**
   * Divides a call whose keys are in several slots of a Redis Cluster. The parts are in the order
   * in which they are taken from. The narrowest subject comes first, so that units taken for a call
   * that is denied in the end, and then given back, belong only to its own caller. A part that
   * makes the call wait comes last, since a departure that is given up may pass unused.
   */
  static final class SlotGroups {

    private SlotGroups() {}

    /** One part for each slot, each with the indexes of its charges. */
    static List<int[]> bySlot(EncodedCall call) {
      if (call.size() == 1) {
        return List.of(new int[] {0});
      }
      Map<Integer, List<Integer>> bySlot = new LinkedHashMap<>();
      for (int i = 0; i < call.size(); i++) {
        int slot = SlotHash.getSlot(call.key(i));
        bySlot.computeIfAbsent(slot, first -> new ArrayList<>()).add(i);
      }
      return bySlot.size() == 1
          ? List.of(IntStream.range(0, call.size()).toArray())
          : narrowestFirst(
              call,
              bySlot.values().stream()
                  .map(indexes -> indexes.stream().mapToInt(Integer::intValue).toArray())
                  .toList());
    }

    /** One part for each charge of a part. */
    static List<int[]> oneByOne(EncodedCall call, int[] part) {
      return narrowestFirst(
          call, Arrays.stream(part).mapToObj(index -> new int[] {index}).toList());
    }

    /** Otherwise in the order of declaration: the sort is stable. */
    private static List<int[]> narrowestFirst(EncodedCall call, List<int[]> parts) {
      return parts.stream()
          .sorted(
              Comparator.<int[], Boolean>comparing(part -> waits(call, part))
                  .thenComparingInt(part -> breadth(call, part)))
          .toList();
    }

    private static boolean waits(EncodedCall call, int[] part) {
      return Arrays.stream(part)
          .mapToObj(call::charge)
          .anyMatch(charge -> charge.stack().waiting().isPresent());
    }

    private static int breadth(EncodedCall call, int[] part) {
      return Arrays.stream(part)
          .mapToObj(call::charge)
          .map(Charge::key)
          .mapToInt(key -> key.breadth())
          .max()
          .orElse(0);
    }
  }
}
