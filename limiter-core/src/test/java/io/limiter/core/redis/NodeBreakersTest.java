// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** Nodes of a Cluster come and go, each under an address of its own. */
class NodeBreakersTest {

  private final List<String> made = new ArrayList<>();
  private final NodeBreakers breakers =
      new NodeBreakers(
          node -> {
            made.add(node);
            return new Breaker(
                new NodeBreakers.BreakerLog(LoggerFactory.getLogger(Breaker.class), node));
          });

  @Test
  void eachNodeHasItsOwn() {
    assertThat(breakers.of("one")).isSameAs(breakers.of("one")).isNotSameAs(breakers.of("other"));
  }

  @Test
  void thoseBeyondAThousandShareOne() {
    IntStream.range(0, 1_000).forEach(node -> breakers.of("node " + node));

    assertThat(breakers.of("late")).isSameAs(breakers.of("later"));
    assertThat(breakers.of("node 7")).isNotSameAs(breakers.of("late"));
    IntStream.range(0, 10_000).forEach(node -> breakers.of("latest " + node));
    assertThat(made).hasSize(1_001);
  }
}
