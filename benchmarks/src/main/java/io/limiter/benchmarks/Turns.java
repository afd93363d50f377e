// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Runs measurements in turn, a b c a b c, so that other load on the machine affects all of them,
 * and a ratio is one of neighbours.
 */
public final class Turns {

  /** Measures once. */
  @FunctionalInterface
  public interface Measurement {

    /** Figures by name, such as {@code decisions/s}. */
    Map<String, Double> take() throws Exception;
  }

  private final Map<String, Measurement> measurements = new LinkedHashMap<>();
  private final int warmUps;
  private final int rounds;

  /** As many rounds as the options request, after one that does not count. */
  public Turns(Options options) {
    this(1, options.rounds());
  }

  /** The same without the first round: for measurements that start cold, or warm up themselves. */
  public static Turns cold(Options options) {
    return new Turns(0, options.rounds());
  }

  Turns(int warmUps, int rounds) {
    this.warmUps = warmUps;
    this.rounds = rounds;
  }

  /**
   * @throws IllegalArgumentException if there is one of this name
   */
  public Turns add(String name, Measurement measurement) {
    if (measurements.putIfAbsent(name, measurement) != null) {
      throw new IllegalArgumentException(
          "Two measurements are named '%s': give one another name".formatted(name));
    }
    return this;
  }

  /** Measures all. */
  public Results run() throws Exception {
    Map<String, List<Map<String, Double>>> found = new LinkedHashMap<>();
    for (int round = 0; round < warmUps + rounds; round++) {
      for (Map.Entry<String, Measurement> measurement : measurements.entrySet()) {
        Map<String, Double> figures = measurement.getValue().take();
        if (round >= warmUps) {
          found.computeIfAbsent(measurement.getKey(), name -> new ArrayList<>()).add(figures);
        }
      }
    }
    return new Results(found);
  }

  /** The results of the rounds. */
  public static final class Results {

    private final Map<String, List<Map<String, Double>>> found;

    Results(Map<String, List<Map<String, Double>>> found) {
      this.found = found;
    }

    /** In the order in which they were added. */
    public List<String> names() {
      return List.copyOf(found.keySet());
    }

    /** A figure of one measurement. */
    public Spread value(String name, String figure) {
      return Spread.of(values(name, figure));
    }

    /** A figure of one measurement by that of another in the same round. */
    public Spread ratio(String name, String base, String figure) {
      List<Double> ratios = new ArrayList<>();
      List<Double> of = values(name, figure);
      List<Double> by = values(base, figure);
      for (int round = 0; round < of.size(); round++) {
        ratios.add(of.get(round) / by.get(round));
      }
      return Spread.of(ratios);
    }

    /** A figure of one measurement, round by round. */
    public List<Double> values(String name, String figure) {
      List<Map<String, Double>> rounds = found.get(name);
      if (rounds == null) {
        throw new IllegalArgumentException(
            "Nothing is named '%s': give it one of %s".formatted(name, found.keySet()));
      }
      List<Double> all = new ArrayList<>();
      for (Map<String, Double> round : rounds) {
        Double value = round.get(figure);
        if (value == null) {
          throw new IllegalArgumentException(
              "'%s' has no figure '%s': give it one of %s".formatted(name, figure, round.keySet()));
        }
        all.add(value);
      }
      return all;
    }
  }
}
