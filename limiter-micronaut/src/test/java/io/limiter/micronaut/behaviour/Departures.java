// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** When the methods of {@link WaitingRoutes} were entered. */
@Singleton
@Requires(property = "spec.name", value = WaitingRoutes.SPEC)
class Departures {

  private final List<Long> nanos = new CopyOnWriteArrayList<>();

  String depart() {
    nanos.add(System.nanoTime());
    return "departed";
  }

  int count() {
    return nanos.size();
  }

  void clear() {
    nanos.clear();
  }

  /** The times between the first and each of the others. */
  List<Duration> sinceFirst() {
    List<Long> sorted = nanos.stream().sorted().toList();
    return sorted.stream().skip(1).map(at -> Duration.ofNanos(at - sorted.get(0))).toList();
  }
}
