// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

public class TurnsTest {

  /** The results of rounds with these figures, by the names of the measurements. */
  public static Turns.Results results(Map<String, List<Map<String, Double>>> rounds) {
    return new Turns.Results(rounds);
  }

  private static Turns.Measurement of(Double... values) {
    Iterator<Double> next = List.of(values).iterator();
    return () -> Map.of("rate", next.next());
  }

  @Test
  void measurementsAlternateSoThatNeighboursAreCompared() throws Exception {
    List<String> order = new ArrayList<>();
    Turns turns = new Turns(1, 2);
    for (String name : List.of("a", "b")) {
      turns.add(
          name,
          () -> {
            order.add(name);
            return Map.of("rate", 1.0);
          });
    }

    turns.run();

    assertThat(order).containsExactly("a", "b", "a", "b", "a", "b");
  }

  @Test
  void theWarmUpDoesNotCount() throws Exception {
    Turns.Results found = new Turns(1, 2).add("a", of(1e9, 2.0, 4.0)).run();

    assertThat(found.values("a", "rate")).containsExactly(2.0, 4.0);
  }

  @Test
  void aRatioIsOneOfEachRoundAndNotOfTheMedians() throws Exception {
    Turns.Results found =
        new Turns(0, 3).add("ours", of(10.0, 40.0, 90.0)).add("base", of(10.0, 20.0, 30.0)).run();

    assertThat(found.value("ours", "rate")).isEqualTo(Spread.of(List.of(10.0, 40.0, 90.0)));
    assertThat(found.ratio("ours", "base", "rate")).isEqualTo(Spread.of(List.of(1.0, 2.0, 3.0)));
  }

  @Test
  void namesThatAreTakenOrUnknownAreErrors() throws Exception {
    Turns turns = new Turns(0, 1).add("a", of(1.0));
    assertThatThrownBy(() -> turns.add("a", of(1.0)))
        .hasMessage("Two measurements are named 'a': give one another name");

    Turns.Results found = turns.run();
    assertThatThrownBy(() -> found.value("b", "rate"))
        .hasMessage("Nothing is named 'b': give it one of [a]");
    assertThatThrownBy(() -> found.value("a", "bytes"))
        .hasMessage("'a' has no figure 'bytes': give it one of [rate]");
  }
}
