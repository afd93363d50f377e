// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.lease;

import io.limiter.core.LimitStore;
import io.limiter.core.lease.LeaseStore;
import io.limiter.core.lease.LeaseUnits;
import io.limiter.micronaut.plan.EndpointPart;
import io.limiter.micronaut.plan.LimitedPolicy;
import io.limiter.micronaut.redis.StoreLayer;
import io.micronaut.core.annotation.Order;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/** Spends units that Redis has leased to this instance, and shows how many. */
@Singleton
@Order(200)
final class LeaseLayer implements StoreLayer, EndpointPart {

  private static final LeaseUnits NONE = new LeaseUnits(0, 0, 0, 0);

  /** Where the units are, in the order of the view. */
  private static final Map<String, ToLongFunction<LeaseUnits>> STATES = new LinkedHashMap<>();

  static {
    STATES.put("granted", LeaseUnits::granted);
    STATES.put("spent", LeaseUnits::spent);
    STATES.put("returned", LeaseUnits::returned);
    STATES.put("expired", LeaseUnits::expired);
  }

  /** By the limit key; null without Redis. */
  private volatile @Nullable Supplier<Map<String, LeaseUnits>> leases;

  @Override
  public LimitStore around(LimitStore store) {
    LeaseStore made = new LeaseStore(store);
    leases = made::units;
    return made;
  }

  /** The lease of a policy, and its units under the limit keys of the policy. */
  @Override
  public void policy(LimitedPolicy policy, Map<String, Object> view) {
    Map<String, Duration> leased = new LinkedHashMap<>();
    policy.limits().stream()
        .filter(limit -> !limit.lease().isZero())
        .forEach(limit -> leased.put(limit.key(), limit.lease()));
    if (leased.isEmpty()) {
      return;
    }
    Supplier<Map<String, LeaseUnits>> all = leases;
    Map<String, LeaseUnits> known = all == null ? Map.of() : all.get();
    LeaseUnits units =
        leased.keySet().stream()
            .map(limit -> known.getOrDefault(limit, NONE))
            .reduce(NONE, LeaseUnits::plus);
    Map<String, Object> lease = new LinkedHashMap<>();
    lease.put("time", leased.values().iterator().next().toString());
    STATES.forEach((state, count) -> lease.put(state, count.applyAsLong(units)));
    lease.put("held", units.held());
    view.put("lease", lease);
  }

  @Override
  public void meters(Meters meters) {
    Supplier<Map<String, LeaseUnits>> all = leases;
    if (all != null) {
      STATES.forEach(
          (state, count) ->
              meters.count(
                  "limiter.lease.units",
                  "Units of leases: granted by Redis, then spent, returned or expired",
                  () -> all.get().values().stream().mapToLong(count).sum(),
                  "state",
                  state));
    }
  }
}
