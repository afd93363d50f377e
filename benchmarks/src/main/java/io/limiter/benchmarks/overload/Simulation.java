// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.overload;

import io.limiter.overload.ConcurrencyLimiter;
import io.limiter.overload.ConcurrencyLimiter.Permit;
import io.limiter.overload.Criticality.Level;
import io.limiter.overload.InFlightLimit;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.PriorityQueue;
import java.util.SplittableRandom;
import java.util.function.DoubleUnaryOperator;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * One instance in simulated time: its limiter and its queue are those of the module; calls come at
 * random times (Poisson), and each takes one of the places of a dependency, such as connections of
 * a pool, for a random time (lognormal). The same setting gives the same result.
 */
final class Simulation {

  private static final double SECOND = 1e9;

  /**
   * What is simulated.
   *
   * @param places of the dependency
   * @param millis mean time that a call takes a place
   * @param sigma of the logarithm of this time
   * @param load calls a second, by the time in seconds
   * @param clients as many that each send the next call after the answer, in the place of the load;
   *     0 for none
   * @param slow factor of the time of a call, by the time in seconds
   * @param thrash by how much each call that waits for a place lengthens the time of all, as a
   *     share
   * @param pauses the times, in seconds, at which the process stops for 200 ms
   * @param critical the share of calls of the highest criticality; all others are normal
   * @param callers as many, with equal rates
   * @param failures the share of calls that the limit does not admit by itself but an error ends at
   *     once, without evidence
   * @param warmUp seconds that are not counted
   * @param time seconds that are counted
   */
  record Setting(
      int places,
      double millis,
      double sigma,
      DoubleUnaryOperator load,
      int clients,
      DoubleUnaryOperator slow,
      double thrash,
      List<Double> pauses,
      double critical,
      int callers,
      double failures,
      double warmUp,
      double time) {

    /** A dependency with 16 places and a mean of 20 ms, so that 800 calls/s are its capacity. */
    static Setting of(double load) {
      return new Setting(16, 20, 0.5, at -> load, 0, at -> 1, 0, List.of(), 0, 1_000, 0, 30, 60);
    }

    double capacity() {
      return places * 1_000 / millis;
    }

    Setting withLoad(DoubleUnaryOperator other) {
      return new Setting(
          places, millis, sigma, other, clients, slow, thrash, pauses, critical, callers, failures,
          warmUp, time);
    }

    Setting withClients(int other) {
      return new Setting(
          places, millis, sigma, load, other, slow, thrash, pauses, critical, callers, failures,
          warmUp, time);
    }

    Setting withSlow(DoubleUnaryOperator other) {
      return new Setting(
          places, millis, sigma, load, clients, other, thrash, pauses, critical, callers, failures,
          warmUp, time);
    }

    Setting withThrash(double other) {
      return new Setting(
          places, millis, sigma, load, clients, slow, other, pauses, critical, callers, failures,
          warmUp, time);
    }

    Setting withPauses(Double... at) {
      return new Setting(
          places,
          millis,
          sigma,
          load,
          clients,
          slow,
          thrash,
          List.of(at),
          critical,
          callers,
          failures,
          warmUp,
          time);
    }

    Setting withCritical(double share) {
      return new Setting(
          places, millis, sigma, load, clients, slow, thrash, pauses, share, callers, failures,
          warmUp, time);
    }

    Setting withCallers(int other) {
      return new Setting(
          places, millis, sigma, load, clients, slow, thrash, pauses, critical, other, failures,
          warmUp, time);
    }

    Setting withFailures(double share) {
      return new Setting(
          places, millis, sigma, load, clients, slow, thrash, pauses, critical, callers, share,
          warmUp, time);
    }

    Setting withDependency(int others, double mean, double spread) {
      return new Setting(
          others, mean, spread, load, clients, slow, thrash, pauses, critical, callers, failures,
          warmUp, time);
    }

    Setting withTime(double before, double counted) {
      return new Setting(
          places, millis, sigma, load, clients, slow, thrash, pauses, critical, callers, failures,
          before, counted);
    }
  }

  /**
   * What was counted.
   *
   * @param arrived calls
   * @param admitted of these
   * @param good ended within ten times the mean time of a place (200 ms by default)
   * @param criticalArrived of the highest criticality
   * @param criticalAdmitted of these
   * @param p99 of admitted calls, from their arrival on, in milliseconds
   * @param criticalP99 of the highest criticality
   * @param limits the limit at each second, of the whole time
   * @param goods the good calls of each second, of the whole time
   * @param means the mean latency of the calls that ended in each second, in milliseconds
   * @param jain fairness among the callers: of the share of calls of each that was admitted
   */
  record Outcome(
      Setting setting,
      long arrived,
      long admitted,
      long good,
      long criticalArrived,
      long criticalAdmitted,
      double p99,
      double criticalP99,
      List<Integer> limits,
      List<Integer> goods,
      List<Double> means,
      double jain) {

    /** Good calls as a share of what the dependency can serve. */
    double goodput() {
      return good / setting.time() / setting.capacity();
    }

    double shed() {
      return 1 - (double) admitted / arrived;
    }

    double criticalShare() {
      return criticalArrived == 0 ? 1 : (double) criticalAdmitted / criticalArrived;
    }

    /**
     * The seconds from a time on until three seconds in succession had as many good calls, but for
     * 5 %, and for as much as random arrivals vary; -1 if that was never so.
     */
    int recovered(int from, double callsPerSecond) {
      double enough = 3 * callsPerSecond * 0.95 - 2 * Math.sqrt(3 * callsPerSecond);
      for (int i = from; i + 3 < goods.size(); i++) {
        if (goods.get(i) + goods.get(i + 1) + goods.get(i + 2) >= enough) {
          return i - from;
        }
      }
      return -1;
    }

    double meanLatency(int fromSecond, int toSecond) {
      return means.subList(fromSecond, toSecond).stream()
          .mapToDouble(Double::doubleValue)
          .average()
          .orElseThrow();
    }

    double meanLimit(int fromSecond, int toSecond) {
      return limits.subList(fromSecond, toSecond).stream()
          .mapToInt(Integer::intValue)
          .average()
          .orElseThrow();
    }
  }

  /** Something that happens. */
  private record Event(long at, long order, Runnable what) implements Comparable<Event> {
    @Override
    public int compareTo(Event other) {
      return at != other.at ? Long.compare(at, other.at) : Long.compare(order, other.order);
    }
  }

  /** A call. */
  private static final class Call {
    final long arrived;
    final boolean critical;
    final int caller;
    @Nullable Permit permit;

    Call(long arrived, boolean critical, int caller) {
      this.arrived = arrived;
      this.critical = critical;
      this.caller = caller;
    }
  }

  private final Setting setting;
  private final SplittableRandom random = new SplittableRandom(43);
  private final PriorityQueue<Event> events = new PriorityQueue<>();
  private final Deque<Call> waitForPlace = new ArrayDeque<>();
  private final ConcurrencyLimiter limiter;
  private final long from;
  private final long end;
  private long now;
  private long order;
  private int busy;

  private long arrived;
  private long admitted;
  private long good;
  private long criticalArrived;
  private long criticalAdmitted;
  private final List<Double> latencies = new ArrayList<>();
  private final List<Double> criticalLatencies = new ArrayList<>();
  private final int[] limits;
  private final int[] goods;
  private final int[] served;
  private final double[] sums;
  private final long[] arrivedOf;
  private final long[] admittedOf;

  private Simulation(Setting setting, Algorithm algorithm, long maxWaitMillis) {
    this.setting = setting;
    this.from = (long) (setting.warmUp() * SECOND);
    this.end = (long) ((setting.warmUp() + setting.time()) * SECOND);
    int seconds = (int) (setting.warmUp() + setting.time()) + 1;
    this.limits = new int[seconds];
    this.goods = new int[seconds];
    this.served = new int[seconds];
    this.sums = new double[seconds];
    this.arrivedOf = new long[setting.callers()];
    this.admittedOf = new long[setting.callers()];
    InFlightLimit limit = algorithm.limit(() -> now);
    this.limiter =
        new ConcurrencyLimiter(
            limit,
            new ConcurrencyLimiter.Setup(maxWaitMillis * 1_000_000, 1_000, false),
            () -> now,
            (task, nanos) -> at(now + nanos, task),
            overloaded -> {});
  }

  static Outcome run(Setting setting, Algorithm algorithm) {
    return new Simulation(setting, algorithm, algorithm == Algorithm.NONE ? 0 : 20).run();
  }

  private Outcome run() {
    if (setting.clients() == 0) {
      at(0, this::arrive);
    }
    for (int i = 0; i < setting.clients(); i++) {
      at(0, this::send);
    }
    at(0, () -> second(0));
    while (!events.isEmpty() && events.peek().at() < end) {
      Event next = events.poll();
      now = Math.max(now, next.at());
      next.what().run();
    }
    return new Outcome(
        setting,
        arrived,
        admitted,
        good,
        criticalArrived,
        criticalAdmitted,
        p99(latencies),
        p99(criticalLatencies),
        Arrays.stream(limits).boxed().toList(),
        Arrays.stream(goods).boxed().toList(),
        IntStream.range(0, sums.length)
            .mapToObj(second -> sums[second] / Math.max(1, served[second]))
            .toList(),
        jain());
  }

  private void at(long when, Runnable what) {
    long time = when;
    for (double pause : setting.pauses()) {
      long begin = (long) (pause * SECOND);
      if (time >= begin && time < begin + 200_000_000L) {
        time = begin + 200_000_000L; // what happens in a pause is seen after it
      }
    }
    events.add(new Event(time, order++, what));
  }

  private void second(int number) {
    limits[number] = limiter.limit();
    if (number + 1 < limits.length) {
      at((long) ((number + 1) * SECOND), () -> second(number + 1));
    }
  }

  private boolean isCounted() {
    return now >= from;
  }

  private long nextArrival = 0;

  private void arrive() {
    double rate = setting.load().applyAsDouble(nextArrival / SECOND);
    nextArrival += (long) (-Math.log(1 - random.nextDouble()) / rate * SECOND);
    at(nextArrival, this::arrive);
    send();
  }

  private void send() {
    Call call =
        new Call(now, random.nextDouble() < setting.critical(), random.nextInt(setting.callers()));
    Level level = call.critical ? Level.CRITICAL : Level.NORMAL;
    if (isCounted()) {
      arrived++;
      arrivedOf[call.caller]++;
      criticalArrived += call.critical ? 1 : 0;
    }
    limiter.watch(due -> due);
    Permit permit = limiter.tryBegin(level);
    if (permit != null) {
      begin(call, permit);
    } else {
      limiter.await(
          level,
          call.caller,
          turn -> {
            if (turn != null) {
              begin(call, turn);
            } else {
              answered();
            }
          });
    }
  }

  private void begin(Call call, Permit permit) {
    call.permit = permit;
    if (isCounted()) {
      admitted++;
      admittedOf[call.caller]++;
      criticalAdmitted += call.critical ? 1 : 0;
    }
    if (setting.failures() > 0 && random.nextDouble() < setting.failures()) {
      at(
          now + 100_000,
          () -> {
            permit.end(); // an error: no evidence
            answered();
          });
    } else if (busy < setting.places()) {
      serve(call);
    } else {
      waitForPlace.add(call);
    }
  }

  /** A client sends its next call a little later, so that time goes on where all are rejected. */
  private void answered() {
    if (setting.clients() > 0) {
      at(now + 100_000, this::send);
    }
  }

  private void serve(Call call) {
    busy++;
    double sigma = setting.sigma();
    double factor =
        setting.slow().applyAsDouble(now / SECOND) * (1 + setting.thrash() * waitForPlace.size());
    double millis =
        setting.millis() * factor * Math.exp(sigma * random.nextGaussian() - sigma * sigma / 2);
    at(now + (long) (millis * 1e6), () -> served(call));
  }

  private void served(Call call) {
    busy--;
    Permit permit = call.permit;
    double millis = (now - call.arrived) / 1e6;
    if (millis <= 10 * setting.millis()) {
      goods[(int) (now / SECOND)]++;
      good += isCounted() ? 1 : 0;
    }
    served[(int) (now / SECOND)]++;
    sums[(int) (now / SECOND)] += millis;
    if (isCounted()) {
      (call.critical ? criticalLatencies : latencies).add(millis);
    }
    Call next = waitForPlace.poll();
    if (next != null) {
      serve(next);
    }
    if (permit != null) {
      permit.sample();
      permit.end();
    }
    answered();
  }

  private static double p99(List<Double> all) {
    double[] sorted = all.stream().mapToDouble(Double::doubleValue).sorted().toArray();
    return sorted.length == 0 ? 0 : sorted[(int) (sorted.length * 0.99)];
  }

  private double jain() {
    double sum = 0;
    double squares = 0;
    int count = 0;
    for (int i = 0; i < arrivedOf.length; i++) {
      if (arrivedOf[i] > 0) {
        double share = (double) admittedOf[i] / arrivedOf[i];
        sum += share;
        squares += share * share;
        count++;
      }
    }
    return squares == 0 ? 1 : sum * sum / (count * squares);
  }
}
