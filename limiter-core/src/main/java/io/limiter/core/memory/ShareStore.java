// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.LimitStore.SeenUse;
import io.limiter.core.LimitStore.SeenUse.RuleUse;
import io.limiter.core.Mode;
import io.limiter.core.Reservation;
import io.limiter.core.StateKey;
import io.limiter.core.Verdict;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.store.DelegatingStore;
import io.limiter.core.util.BoundedCache;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Limits an instance to its share where several instances count separately: the count of every rule
 * divided by the number of instances, rounded up. For a token bucket the initial tokens and the
 * refill rate are divided too, for a leaky bucket the queue and the rate. Together the instances
 * admit at most instances × ceil(count / instances), which is less than count + instances, instead
 * of instances × count.
 *
 * <p>Verdicts contain the shares, since these decide; the rules keep their names. A call that costs
 * more than a share is denied. Duplicate guards are not divided: the share of one submission is
 * one.
 */
public final class ShareStore extends DelegatingStore {

  /** The most stacks whose shares are cached. A service has one or two for each method. */
  private static final int MAX_REMEMBERED = 4_096;

  private final int instances;
  private final BoundedCache<RuleStack, RuleStack> shares =
      new BoundedCache<>(MAX_REMEMBERED, this::share);

  /** Maps the names of state keys to those of their shares, where these differ. */
  private final Map<String, String> names = new ConcurrentHashMap<>();

  /**
   * @param instances the number of instances, 1 or more
   */
  public ShareStore(LimitStore store, int instances) {
    super(store);
    if (instances < 1) {
      throw new IllegalArgumentException(
          "Limits divided among %s instances: use 1 or more".formatted(instances));
    }
    this.instances = instances;
  }

  @Override
  public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
    List<Charge> charges = request.charges().stream().map(all -> share(all)).toList();
    return store
        .decide(new LimitRequest(request.policy(), charges, request.duplicate()), mode)
        .thenApply(
            verdict ->
                verdict.withReservation(new Reservation.Replaced(verdict.reservation(), request)));
  }

  /** The share of a charge. It may have another shape, and so another key. */
  private Charge share(Charge all) {
    RuleStack share = shares.get(all.stack());
    StateKey key = all.key().of(share);
    if (!key.equals(all.key()) && names.size() < MAX_REMEMBERED) {
      names.put(all.key().name(), key.name());
    }
    return new Charge(all.limit(), key, share, all.cost(), all.observed());
  }

  /** These keys, and those of the shares. */
  private List<StateKey> withShares(Collection<StateKey> keys) {
    List<StateKey> all = new ArrayList<>(keys);
    for (StateKey key : keys) {
      String share = names.get(key.name());
      if (share != null) {
        all.add(new StateKey(key.tag(), share, key.breadth()));
      }
    }
    return all;
  }

  /**
   * Leaves each rule an equal part of what the last verdict left, rounded up, minus what this
   * instance has admitted since. So instances that have seen the same verdict admit less than count
   * + instances together with the store, in any window. One that has seen an older verdict may
   * admit its whole share, so all of them never admit more than count + instances × share.
   */
  @Override
  public void adopt(Charge undivided, SeenUse known) {
    List<RuleUse> uses =
        known.rules().stream()
            .map(
                use ->
                    new RuleUse(
                        (use.remaining() + instances - 1) / instances,
                        1,
                        use.resetsAfterMicros(),
                        use.resetsAfterMicros()))
            .toList();
    store.adopt(share(undivided), known.withRules(uses));
  }

  private RuleStack share(RuleStack undivided) {
    RuleStack rules =
        RuleStack.of(undivided.rules().stream().map(rule -> rule.share(instances)).toList())
            .withWarnAt(undivided.warnAt());
    return undivided.ban().map(rules::withBan).orElse(rules).withCounting(undivided.counting());
  }

  @Override
  public CompletionStage<Void> reset(Collection<StateKey> keys) {
    return store.reset(withShares(keys));
  }
}
