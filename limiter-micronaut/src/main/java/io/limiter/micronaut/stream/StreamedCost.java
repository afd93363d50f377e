// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.stream;

import io.limiter.core.Charge;
import io.limiter.core.Completion;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Reservation;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.limiter.core.rule.RuleStack;
import io.limiter.micronaut.call.CallState;
import io.limiter.micronaut.call.LimitedCall;
import io.limiter.micronaut.call.WithheldItems;
import io.limiter.micronaut.plan.CompletionPlan;
import io.limiter.micronaut.plan.LimitPlan;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;

/**
 * What one stream has cost, and may still cost. The call has taken its estimate. Further units are
 * taken in steps, one decision each: the next one once half of a step is left, so that items seldom
 * wait for it. Each step is a reservation of its own.
 *
 * <p>If a step is denied when an item needs it, a stream that is cut takes once more what is left,
 * and ends before the first item that is not covered. Another stream goes on, and what it sends is
 * recorded afterwards, by the step.
 */
final class StreamedCost implements CallState {

  private static final String NOT_ASKED = "The next units of a stream could not be taken";

  private static final CompletionStage<Boolean> MAY_BE_SENT =
      CompletableFuture.completedFuture(true);
  private static final CompletionStage<Boolean> IS_CUT = CompletableFuture.completedFuture(false);

  private final LimitStore store;
  private final LimitPlan plan;
  private final StreamTerms terms;
  private final List<RuleStack> stacks = new ArrayList<>(); // as planned
  private final List<Charge> charges = new ArrayList<>(); // with the estimates
  private final int step;

  // Guarded by this object.
  private final List<Step> steps = new ArrayList<>(); // that are not used up
  private long taken; // what is owed is taken once it is recorded
  private long sent; // the units of all items until now
  private @Nullable CompletableFuture<Verdict> asking;
  private boolean low; // the next step was not granted before it was needed
  private boolean last; // it has asked for what is left
  private boolean owing; // a step was denied, and the stream goes on
  private boolean ended;
  private volatile boolean begun;

  private @Nullable Verdict denied; // what was denied last
  private boolean cut;

  /**
   * Units that were taken while the stream ran.
   *
   * @param upTo all units that were taken then; a charge whose estimate is higher took fewer
   */
  private record Step(Reservation reservation, long upTo) {

    /** Of the units that a charge took in this step, those that items have cost. */
    int used(Charge charge, long sent) {
      long before = upTo - charge.cost();
      return (int) Math.max(0, Math.min(charge.cost(), sent - before));
    }
  }

  StreamedCost(LimitStore store, LimitPlan plan, StreamTerms terms, LimitRequest asked) {
    this.store = store;
    this.plan = plan;
    this.terms = terms;
    for (Charge charge : asked.charges()) {
      RuleStack counted = terms.ofStep(charge.stack());
      if (counted != null) {
        stacks.add(CompletionPlan.planned(charge.stack()));
        charges.add(
            new Charge(charge.limit(), charge.key(), counted, charge.cost(), charge.observed()));
      }
    }
    this.taken = charges.stream().mapToInt(Charge::cost).min().orElse(0);
    this.step = terms.step() > 0 ? terms.step() : (int) taken;
    this.begun = terms.certain();
  }

  /** Whether no stack of the call is one that items take from. */
  boolean isEmpty() {
    return charges.isEmpty();
  }

  @Override
  public boolean chargesItems() {
    return true;
  }

  /** The call streams, which its result alone may show: otherwise it costs what its result does. */
  @Override
  public Flux<Object> items(Flux<Object> items, Reader reader) {
    begun = true;
    return Flux.from(
        new WithheldItems(
            items,
            item -> {
              CompletionStage<Boolean> paid = pay(item);
              return paid == null ? null : reader.resume(paid);
            },
            () -> cutBy().flatMap(reader::cut)));
  }

  /**
   * Takes the cost of the next item.
   *
   * @return null if it may be sent now; else completes with whether it may, on a thread of the
   *     store
   */
  private @Nullable CompletionStage<Boolean> pay(Object item) {
    int units = terms.cost().of(item).orElse(1);
    synchronized (this) {
      if (ended || takes(units)) {
        return null;
      }
      return extend(units);
    }
  }

  /** The verdict that has cut the stream; empty if it ended by itself. */
  private synchronized Optional<Verdict> cutBy() {
    return cut && denied != null ? Optional.of(plan.named(denied)) : Optional.empty();
  }

  private boolean takes(int units) {
    if (!owing && sent + units > taken) {
      return false;
    }
    sent += units;
    if (owing) {
      while (sent - taken >= step) {
        var unused = recordOwed();
      }
    } else if (!last && !low && asking == null && taken - sent <= step / 2) {
      var unused = ask(taken + step);
    }
    return true;
  }

  private CompletionStage<Boolean> extend(int units) {
    if (last) {
      cut = true;
      return IS_CUT;
    }
    CompletableFuture<Verdict> next =
        asking != null ? asking : ask(Math.max(taken + step, sent + units));
    return next.thenCompose(verdict -> extended(units, verdict));
  }

  private synchronized CompletionStage<Boolean> extended(int units, Verdict verdict) {
    if (ended || takes(units)) {
      return MAY_BE_SENT;
    }
    if (admits(verdict)) { // it was asked for before this item was there
      return extend(units);
    }
    if (!terms.cut()) {
      owing = true;
      takes(units);
      return MAY_BE_SENT;
    }
    denied = verdict;
    long left = left(verdict);
    if (last || sent + units > taken + left) {
      cut = true;
      return IS_CUT;
    }
    last = true;
    return ask(taken + left).thenCompose(rest -> extended(units, rest));
  }

  private boolean admits(Verdict verdict) {
    return verdict.allowed() || plan.isObserved();
  }

  /** The units that all enforced rules would still admit. */
  private static long left(Verdict verdict) {
    long least =
        verdict.rules().stream()
            .filter(rule -> !rule.observed())
            .mapToLong(RuleVerdict::remaining)
            .min()
            .orElse(0);
    return Math.min(least, Charge.MAX_COST);
  }

  /** Takes units until as many as this are taken. */
  private CompletableFuture<Verdict> ask(long upTo) {
    CompletableFuture<Verdict> asked = new CompletableFuture<>();
    asking = asked;
    var unused =
        decide(upTo, Mode.ACQUIRE)
            .thenCompose(
                verdict ->
                    answered(verdict, upTo)
                        ? CompletableFuture.completedFuture(verdict)
                        : giveBack(verdict.reservation(), Completion.succeeded().withCost(0))
                            .thenApply(given -> verdict))
            .whenComplete(
                (verdict, failure) -> {
                  if (failure == null) {
                    asked.complete(verdict);
                  } else {
                    failed(asked, failure);
                  }
                });
    return asked;
  }

  private void failed(CompletableFuture<Verdict> asked, Throwable failure) {
    synchronized (this) {
      asking = null;
      low = true; // ask again when an item needs it
    }
    asked.completeExceptionally(failure);
  }

  /** Returns false if the stream has ended without these units. */
  private synchronized boolean answered(Verdict verdict, long upTo) {
    asking = null;
    low = !admits(verdict);
    if (low || ended) {
      return low;
    }
    steps.removeIf(earlier -> earlier.upTo() <= sent);
    steps.add(new Step(verdict.reservation(), upTo));
    taken = upTo;
    return true;
  }

  /** Records what was sent and is not covered, as far as one command can. */
  private CompletionStage<?> recordOwed() {
    long upTo = Math.min(sent, taken + Charge.MAX_COST);
    CompletionStage<Verdict> recorded = decide(upTo, Mode.RECORD);
    taken = upTo;
    return LimitedCall.reported(
        recorded, "What a stream sent beyond its limits could not be recorded");
  }

  private CompletionStage<Verdict> decide(long upTo, Mode mode) {
    List<Charge> more = new ArrayList<>(charges.size());
    for (Charge charge : charges) {
      long units = upTo - Math.max(taken, charge.cost());
      if (units > 0) {
        more.add(charge.withCost((int) units));
      }
    }
    try {
      return store.decide(new LimitRequest(plan.policy(), more, Optional.empty()), mode);
    } catch (Throwable broken) { // a store may be the application's
      return CompletableFuture.failedFuture(broken);
    }
  }

  /** What its items have cost of the estimates. From here on nothing more is sent or taken. */
  @Override
  public synchronized Map<RuleStack, Integer> costs() {
    if (!begun) {
      return Map.of();
    }
    ended = true;
    Map<RuleStack, Integer> costs = new HashMap<>();
    for (int i = 0; i < stacks.size(); i++) {
      costs.put(stacks.get(i), (int) Math.min(charges.get(i).cost(), sent));
    }
    return costs;
  }

  /** Gives back what no item has cost, and records what is owed. */
  @Override
  public synchronized CompletionStage<?> over(End end) {
    CompletionStage<?> settled =
        asking == null
            ? CompletableFuture.completedFuture(null)
            : LimitedCall.reported(asking, NOT_ASKED);
    if (sent > taken) {
      settled = settled.thenCombine(recordOwed(), (before, recorded) -> null);
    }
    long used = sent;
    for (Step each : steps) {
      if (each.upTo() > used) {
        settled =
            settled.thenCombine(
                giveBack(
                    each.reservation(),
                    Completion.succeeded().withCosts(charge -> each.used(charge, used))),
                (before, units) -> null);
      }
    }
    return settled;
  }

  private static CompletionStage<?> giveBack(Reservation reservation, Completion completion) {
    return LimitedCall.attempt(
        () -> reservation.settle(completion),
        "Units that a stream has not used could not be given back, so they stay taken until they expire");
  }
}
