// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.redis.ConnectionSource.NodeAddress;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Parsing the replies to CLUSTER NODES. */
class ClusterTopologyTest {

  private static final NodeAddress A = new NodeAddress("10.0.0.1", 6379);
  private static final NodeAddress B = new NodeAddress("10.0.0.2", 6379);

  @Test
  void primariesHaveTheirSlots() {
    ClusterTopology found =
        of(
            """
            aa 10.0.0.1:6379@16379 myself,master - 0 0 1 connected 0-8000 8002 [8001->-bb]
            bb 10.0.0.2:6379@16379 master - 0 1426238316232 2 connected 8001 8003-16383
            cc 10.0.0.3:6379@16379 slave bb 0 1426238316232 2 connected
            """);

    assertThat(found.slots()).containsOnlyKeys(A, B);
    assertThat(found.slots().get(A).cardinality()).isEqualTo(8002);
    assertThat(found.slots().get(A).get(8001)).isFalse();
    assertThat(found.slots().get(B).get(8001)).isTrue();
    assertThat(found.isWell()).isTrue();
  }

  @Test
  void aPrimaryWithoutSlotsIsConnectedToBeforeItGetsSome() {
    ClusterTopology found =
        of(
            "aa 10.0.0.1:6379@16379 myself,master - 0 0 1 connected 0-16383\n"
                + "bb 10.0.0.2:6379@1 master - 0 0 0 connected\n");

    assertThat(found.slots().get(B)).isEqualTo(new BitSet());
  }

  @Test
  void theHigherEpochHolds() {
    String before =
        """
        aa 10.0.0.1:6379@16379 myself,master - 0 0 1 connected 0-16383
        bb 10.0.0.2:6379@16379 slave aa 0 0 1 connected
        """;
    String after =
        """
        aa 10.0.0.1:6379@16379 slave bb 0 0 2 connected
        bb 10.0.0.2:6379@16379 myself,master - 0 0 2 connected 0-16383
        """;

    assertThat(of(before, after).slots()).containsOnlyKeys(B);
    assertThat(of(after, before).slots()).containsOnlyKeys(B);
  }

  @Test
  void theSlotsOfAFailingPrimaryAreLookedUpAgainSoon() {
    String rest = " - 0 0 1 connected 0-16383\n";
    assertThat(of("aa 10.0.0.1:6379@1 master,fail?" + rest).isWell()).isFalse();
    assertThat(of("aa 10.0.0.1:6379@1 master,fail" + rest).isWell()).isFalse();
    assertThat(of("aa 10.0.0.1:6379@1 master,fail" + rest).slots()).containsOnlyKeys(A);
    assertThat(of("aa 10.0.0.1:6379@1 master - 0 0 1 connected 1-16383").isWell()).isFalse();
  }

  /** The state after another node has taken over. */
  @Test
  void aLostPrimaryWithoutSlotsIsIgnored() {
    ClusterTopology found =
        of(
            """
            aa 10.0.0.1:6379@16379 master,fail - 0 0 1 disconnected
            bb 10.0.0.2:6379@16379 myself,master - 0 0 2 connected 0-16383
            """);

    assertThat(found.slots()).containsOnlyKeys(B);
    assertThat(found.isWell()).isTrue();
  }

  @Test
  void nodesWithoutAnAddressAreIgnored() {
    ClusterTopology found =
        of(
            """
            aa :0@0 master,noaddr - 0 0 1 disconnected 0-100
            bb 10.0.0.2:6379@16379 handshake - 0 0 0 connected
            """);

    assertThat(found.slots()).isEmpty();
  }

  @Test
  void aNodeThatDoesNotKnowItsAddressIsWhereItWasAsked() {
    assertThat(of("aa :6379@16379 myself,master - 0 0 1 connected 0-16383").slots())
        .containsOnlyKeys(new NodeAddress("asked", 6379));
    assertThat(of("aa ::1:6379@16379 myself,master - 0 0 1 connected 0-16383").slots())
        .containsOnlyKeys(new NodeAddress("::1", 6379));
  }

  /** Certificates contain names; redirections may contain either. */
  @Test
  void aNodeHasItsNameWhereNamesAreWanted() {
    List<ClusterTopology.View> views =
        List.of(
            new ClusterTopology.View(
                "asked",
                "aa 10.0.0.1:6379@16379,one.example myself,master - 0 0 1 connected 0-16383"));
    NodeAddress named = new NodeAddress("one.example", 6379);

    assertThat(ClusterTopology.of(views, true).slots()).containsOnlyKeys(named);
    assertThat(ClusterTopology.of(views, true).known(A)).isEqualTo(named);
    assertThat(ClusterTopology.of(views, false).slots()).containsOnlyKeys(A);
    assertThat(ClusterTopology.of(views, false).known(named)).isEqualTo(A);
    assertThat(ClusterTopology.of(views, false).known(B)).isEqualTo(B);
  }

  @Test
  void anInvalidAnswerRevealsNothing() {
    assertThat(of("", "\n", "nonsense").slots()).isEmpty();
  }

  private static ClusterTopology of(String... answers) {
    return ClusterTopology.of(
        Arrays.stream(answers).map(answer -> new ClusterTopology.View("asked", answer)).toList(),
        false);
  }
}
