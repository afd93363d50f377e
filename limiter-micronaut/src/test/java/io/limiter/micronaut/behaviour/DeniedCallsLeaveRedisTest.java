// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.limiter.micronaut.behaviour.RedisKeys.Stored;
import io.limiter.micronaut.behaviour.RouteKind.Decider;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A denied call changes no stored byte, no time to live, and creates no key. */
class DeniedCallsLeaveRedisTest {

  /** Both clocks of an expiry are cut to milliseconds; a prolonged one would be far off. */
  private static final long ROUNDING_MILLIS = 3;

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aHundredDenialsChangeNothing(boolean gate) {
    try (TestServer server =
        TestServer.start(RoutesByRequest.SPEC, Map.of("limiter.gate.enabled", gate))) {
      for (Decider decider : Decider.values()) {
        for (int call = 0; call < 4; call++) {
          RouteKind.SYNC.call(server, decider);
          RouteKind.FLUX.call(server, decider);
          RouteKind.BODY.call(server, decider);
        }
      }
      Map<String, Stored> before = server.keys().all();
      assertThat(before).hasSize(6);
      assertThat(before.values()).allMatch(stored -> stored.expiry() > 0, "has a time to live");

      List<RouteKind> kinds = List.of(RouteKind.SYNC, RouteKind.FLUX, RouteKind.BODY);
      int denied = 0;
      for (int call = 0; call < 100; call++) {
        RouteKind kind = kinds.get(call % kinds.size());
        Decider decider = call % 2 == 0 ? Decider.REQUEST : Decider.ARGUMENT;
        denied += kind.call(server, decider).statusCode() == 429 ? 1 : 0;
      }

      assertThat(denied).isEqualTo(100);
      Map<String, Stored> after = server.keys().all();
      assertThat(after.keySet()).isEqualTo(before.keySet());
      after.forEach(
          (key, stored) -> {
            assertThat(stored.bytes()).isEqualTo(before.get(key).bytes());
            assertThat(stored.expiry())
                .isCloseTo(before.get(key).expiry(), within(ROUNDING_MILLIS));
          });
    }
  }
}
