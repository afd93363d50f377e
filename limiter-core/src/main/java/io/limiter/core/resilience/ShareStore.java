// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.resilience;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.Reservation;
import io.limiter.core.StateKey;
import io.limiter.core.Verdict;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.store.LimitStore;
import io.limiter.core.store.LimitStore.KnownUse;
import io.limiter.core.store.LimitStore.KnownUse.RuleUse;
import io.limiter.core.store.Mode;
import io.limiter.core.util.BoundedCache;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletionStage;

/**
 * Gives each of several instances its share, where each counts for itself: the count of every rule
 * divided by the number of instances, rounded up. For a token bucket the initial tokens and the
 * refill rate are divided too, for a leaky bucket the queue and the rate. Together the instances
 * admit at most instances × ceil(count / instances), which is less than count + instances, instead
 * of instances × count.
 *
 * <p>Verdicts contain the shares, since these decide; the rules keep their names. A call that costs
 * more than a share is denied. Duplicate guards are not divided: the share of one submission is
 * one.
 */
public final class ShareStore implements LimitStore {

  /** The most stacks whose shares are cached. A service has one or two for each method. */
  private static final int MAX_REMEMBERED = 4_096;

  private final LimitStore store;
  private final int instances;
  private final BoundedCache<RuleStack, RuleStack> shares =
      new BoundedCache<>(MAX_REMEMBERED, this::share);

  /**
   * @param instances the number of instances, 1 or more
   */
  public ShareStore(LimitStore store, int instances) {
    if (instances < 1) {
      throw new IllegalArgumentException(
          "Limits divided among %s instances: give it 1 or more".formatted(instances));
    }
    this.store = store;
    this.instances = instances;
  }

  @Override
  public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
    List<Charge> charges =
        request.charges().stream()
            .map(
                all ->
                    new Charge(
                        all.limit(),
                        all.key(),
                        shares.get(all.stack()),
                        all.cost(),
                        all.observed()))
            .toList();
    return store
        .decide(new LimitRequest(request.policy(), charges, request.duplicate()), mode)
        .thenApply(
            verdict ->
                verdict.withReservation(new Reservation.Replaced(verdict.reservation(), request)));
  }

  /**
   * Each rule is left the lesser of two amounts: its share minus this instance's own use, and the
   * whole minus the use by all instances.
   */
  @Override
  public void adopt(Charge undivided, KnownUse known) {
    RuleStack share = shares.get(undivided.stack());
    List<RuleUse> uses = new ArrayList<>(known.rules().size());
    for (int r = 0; r < known.rules().size(); r++) {
      RuleUse use = known.rules().get(r);
      long rest = share.rules().get(r).capacity() - use.ownUnits();
      uses.add(
          new RuleUse(
              Math.max(0, Math.min(use.remaining(), rest)),
              1,
              use.resetsAfterMicros(),
              use.resetsAfterMicros(),
              use.ownUnits()));
    }
    store.adopt(
        new Charge(
            undivided.limit(), undivided.key(), share, undivided.cost(), undivided.observed()),
        known.withRules(uses));
  }

  private RuleStack share(RuleStack undivided) {
    RuleStack rules =
        RuleStack.of(undivided.rules().stream().map(rule -> rule.share(instances)).toList());
    return undivided.ban().map(rules::withBan).orElse(rules).withCounting(undivided.counting());
  }

  @Override
  public CompletionStage<Void> reset(Collection<StateKey> keys) {
    return store.reset(keys);
  }

  @Override
  public CompletionStage<Void> liftBans(Collection<StateKey> keys) {
    return store.liftBans(keys);
  }

  @Override
  public void close() {
    store.close();
  }
}
