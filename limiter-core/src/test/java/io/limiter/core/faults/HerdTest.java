// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.faults;

import static io.limiter.core.faults.FaultBench.HEALED;
import static io.limiter.core.faults.FaultBench.NOISE;
import static io.limiter.core.faults.FaultBench.pass;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisURI;
import io.limiter.core.StoreException;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.SharedConnection;
import io.limiter.core.testing.FaultProxy;
import io.limiter.core.testing.RecordedLog;
import io.limiter.core.testing.RedisProcess;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Fifty instances of a service lose Redis at once. */
@Tag("faults")
class HerdTest {

  private static final int INSTANCES = 50;

  /** 10 to 36 were observed; with Lettuce's own jitter 48 to 50. */
  private static final int MOST_IN_A_TENTH = 45;

  private static final long TENTH_NANOS = Duration.ofMillis(100).toNanos();

  private final RedisProcess redis = RedisProcess.onFreePort().start();
  private final FaultProxy proxy = new FaultProxy(redis.port());
  private final List<SharedConnection> instances = new ArrayList<>();
  private final RecordedLog lettuce = RecordedLog.of("io.lettuce"); // each logs its loss

  @AfterEach
  void close() {
    instances.forEach(SharedConnection::close);
    proxy.close();
    redis.close();
    lettuce.close();
  }

  @Test
  @DisplayName("F38: fifty connections are cut, and Redis is there")
  void instancesThatLostRedisBrieflyDoNotReconnectAtOnce() {
    connect();
    int before = proxy.accepted();
    proxy.reset();
    awaitAll();

    assertNoHerd(before);
  }

  @Test
  @DisplayName("F38: fifty connections are cut, and Redis is away for two seconds")
  void instancesThatLostRedisForLongDoNotReconnectAtOnce() {
    connect();
    proxy.rejectConnections();
    pass(Duration.ofSeconds(2));
    int before = proxy.accepted();
    proxy.pass();
    awaitAll();

    assertNoHerd(before);
  }

  private void connect() {
    RedisURI uri = RedisURI.create(proxy.uri());
    for (int i = 0; i < INSTANCES; i++) {
      instances.add(SharedConnection.open(uri, RedisSettings.defaults()));
    }
    awaitAll();
  }

  private void awaitAll() {
    await()
        .pollInterval(Duration.ofMillis(20))
        .atMost(HEALED.multipliedBy(NOISE))
        .until(() -> proxy.open() == INSTANCES && instances.stream().allMatch(HerdTest::isOpen));
  }

  private static boolean isOpen(SharedConnection instance) {
    try {
      return instance.commands() != null;
    } catch (StoreException notYet) {
      return false;
    }
  }

  /** Checks every tenth of a second. */
  private void assertNoHerd(int before) {
    List<Long> came = proxy.acceptedAt();
    came = came.subList(before, came.size());
    assertThat(came).hasSizeGreaterThanOrEqualTo(INSTANCES);
    int most = 0;
    for (int first = 0, last = 0; last < came.size(); last++) {
      while (came.get(last) - came.get(first) >= TENTH_NANOS) {
        first++;
      }
      most = Math.max(most, last - first + 1);
    }
    assertThat(most).as("connections within 100 ms").isLessThan(MOST_IN_A_TENTH);
  }
}
