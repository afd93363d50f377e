// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.testing.RedisProcess;
import io.limiter.micronaut.testing.HttpService;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** The end of a window as a time of day: one time for all calls in it, in whatever way decided. */
class ResetTimesTest {

  private static final List<String> ALL = List.of("STORE", "DENY_CACHE");

  @Test
  void allCallsInOneWindowHaveOneTimeWithRedis() {
    try (RedisProcess redis = RedisProcess.onFreePort().start()) {
      assertOneTime(Map.of("redis.uri", redis.uri()), ALL);
    }
  }

  @Test
  void allCallsInOneWindowHaveOneTimeInMemory() {
    assertOneTime(Map.of(), List.of("STORE"));
  }

  private static void assertOneTime(Map<String, Object> store, List<String> deciders) {
    Map<String, Object> settings = new LinkedHashMap<>(store);
    settings.put("limiter.headers.format", "x-rate-limit-epoch");
    settings.put("limiter.headers.debug", true);
    settings.put("limiter.deny-cache.enabled", true);
    try (HttpService service = HttpService.start(AlgorithmRoutes.SPEC, settings)) {
      long midnight = midnight();
      Set<String> times = new TreeSet<>();
      Set<String> decidedBy = new TreeSet<>();
      for (int i = 0; i < 40; i++) {
        var response = service.get("/algorithms/day");
        times.add(field(response, "X-RateLimit-Reset"));
        decidedBy.add(field(response, "X-Decided-By"));
      }

      assertThat(decidedBy).containsAll(deciders);
      if (midnight() == midnight) { // else there were two windows
        assertThat(times).containsExactly(Long.toString(midnight));
      }
    }
  }

  private static long midnight() {
    return Instant.now().truncatedTo(ChronoUnit.DAYS).plus(1, ChronoUnit.DAYS).getEpochSecond();
  }
}
