// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import io.limiter.core.testing.Rooms;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The parts of the engine that the rest of it does not know. */
class RoomsTest {

  @Test
  void onlyTheseKnowARoom() {
    Rooms.requireKnownTo(
        Map.of(
            "io.limiter.core.memory",
            Set.of(),
            "io.limiter.core.redis.cluster",
            Set.of(),
            "io.limiter.core.denycache",
            Set.of(),
            "io.limiter.core.lease",
            Set.of(),
            "io.limiter.core.outage",
            Set.of()),
        "io.limiter.core");
  }
}
