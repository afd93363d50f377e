// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.limiter.micronaut.behaviour.RedisKeys.Stored;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Five for each caller and twenty for all: what one of them denies takes nothing from the other,
 * not a stored byte.
 */
class AllOrNothingTest {

  /** Both clocks of an expiry are cut to milliseconds; a prolonged one would be far off. */
  private static final long ROUNDING_MILLIS = 3;

  private static final int DENIALS = 25;

  static Stream<Arguments> doors() {
    return Stream.of(true, false)
        .flatMap(
            gate ->
                Stream.of("/stacked/request", "/stacked/argument")
                    .map(path -> Arguments.of(gate, path)));
  }

  @ParameterizedTest
  @MethodSource("doors")
  void aCallThatIsDeniedForItsCallerTakesNothingFromAll(boolean gate, String path) {
    try (TestServer server = start(gate)) {
      assertAdmitted(server, path, List.of("ann"), 5);

      Map<String, Stored> before = server.keys().all();
      assertThat(before).hasSize(2);
      assertDenied(server, path, "ann");
      assertUnchanged(server, before);

      assertAdmitted(server, path, List.of("bob", "cid", "dan"), 5);
    }
  }

  @ParameterizedTest
  @MethodSource("doors")
  void aCallThatIsDeniedForAllTakesNothingFromItsCaller(boolean gate, String path) {
    try (TestServer server = start(gate)) {
      assertAdmitted(server, path, List.of("ann", "bob", "cid"), 5);
      assertAdmitted(server, path, List.of("dan", "eve"), 2);
      assertAdmitted(server, path, List.of("dan"), 1);

      Map<String, Stored> before = server.keys().all();
      assertThat(before).hasSize(6);
      assertDenied(server, path, "dan"); // has two left
      assertDenied(server, path, "fay"); // has five left, and no key yet
      assertDenied(server, path, "ann"); // has none left either
      assertUnchanged(server, before);
    }
  }

  private static TestServer start(boolean gate) {
    return TestServer.start(PlaceRoutes.SPEC, Map.of("limiter.gate.enabled", gate));
  }

  private static void assertAdmitted(TestServer server, String path, List<String> who, int calls) {
    for (String caller : who) {
      for (int call = 0; call < calls; call++) {
        assertThat(status(server, path, caller)).as(caller).isEqualTo(200);
      }
    }
  }

  private static void assertDenied(TestServer server, String path, String who) {
    for (int call = 0; call < DENIALS; call++) {
      assertThat(status(server, path, who)).as(who).isEqualTo(429);
    }
  }

  private static int status(TestServer server, String path, String who) {
    return server.get(path + "?who=" + who, "X-Api-Key", who).statusCode();
  }

  private static void assertUnchanged(TestServer server, Map<String, Stored> before) {
    Map<String, Stored> after = server.keys().all();
    assertThat(after.keySet()).isEqualTo(before.keySet());
    after.forEach(
        (key, stored) -> {
          assertThat(stored.bytes()).isEqualTo(before.get(key).bytes());
          assertThat(stored.expiry()).isCloseTo(before.get(key).expiry(), within(ROUNDING_MILLIS));
        });
  }
}
