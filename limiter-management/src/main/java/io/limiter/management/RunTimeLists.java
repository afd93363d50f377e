// SPDX-License-Identifier: Apache-2.0
package io.limiter.management;

import io.limiter.management.ListedCaller.Kind;
import io.limiter.micronaut.address.IpAddress;
import io.limiter.micronaut.address.TrustedProxies.ByNetwork;
import io.limiter.micronaut.config.ListedCallers;
import jakarta.inject.Singleton;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The callers that are listed at run time, as this instance has last read them. While there are
 * none, a look-up is the read of a field.
 */
@Singleton
@OverridesConfiguration.Enabled
final class RunTimeLists implements ListedCallers {

  private volatile List<InForce> all = List.of();
  private volatile @Nullable KindInForce blocked;
  private volatile @Nullable KindInForce exempt;

  /** A caller with the System.nanoTime() until which it is listed. */
  private record InForce(ListedCaller caller, long endNanos) {

    boolean holds() {
      return endNanos - System.nanoTime() > 0;
    }
  }

  /** The callers that are listed for one kind. */
  private record KindInForce(
      ByNetwork<InForce> addresses, boolean hasAddresses, Map<String, InForce> users)
      implements Callers {

    /** Null if there are none. */
    static @Nullable KindInForce of(Kind kind, List<InForce> all) {
      ByNetwork<InForce> addresses = new ByNetwork<>();
      boolean hasAddresses = false;
      Map<String, InForce> users = new HashMap<>();
      for (InForce each : all) {
        if (each.caller().kind() != kind) {
          continue;
        }
        if (each.caller().user().isEmpty()) {
          addresses.put(each.caller().addresses(), each);
          hasAddresses = true;
        } else {
          users.put(each.caller().user(), each);
        }
      }
      return hasAddresses || !users.isEmpty()
          ? new KindInForce(addresses, hasAddresses, users)
          : null;
    }

    @Override
    public boolean hasAddress(IpAddress client) {
      return addresses.matches(client, InForce::holds);
    }

    @Override
    public boolean hasUnixSockets() {
      return addresses.matchesUnixSockets(InForce::holds);
    }

    @Override
    public boolean hasUser(String name) {
      InForce found = users.get(name);
      return found != null && found.holds();
    }
  }

  /** Replaces the callers that are listed. */
  void use(List<ListedCaller> listed) {
    long nowNanos = System.nanoTime();
    List<InForce> next =
        listed.stream()
            .sorted(Comparator.comparing(ListedCaller::since))
            .map(caller -> new InForce(caller, nowNanos + caller.left().toNanos()))
            .toList();
    all = next;
    blocked = KindInForce.of(Kind.BLOCK, next);
    exempt = KindInForce.of(Kind.EXEMPT, next);
  }

  @Override
  public @Nullable Callers blocked() {
    return blocked;
  }

  @Override
  public @Nullable Callers exempt() {
    return exempt;
  }

  /** The callers that are listed now, the first one first. */
  List<ListedCaller> all() {
    return all.stream().filter(InForce::holds).map(InForce::caller).toList();
  }
}
