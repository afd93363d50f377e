// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class BenchRedisTest {

  @Test
  void aServerHasItsOwnNameAndVersion() {
    assertThat(BenchRedis.product("redis_version:7.0.15\r\nredis_mode:standalone\r\n"))
        .isEqualTo("Redis 7.0.15");
    assertThat(BenchRedis.product("redis_version:7.2.4\r\nvalkey_version:9.1.2\r\n"))
        .isEqualTo("Valkey 9.1.2");
    assertThat(BenchRedis.product("")).isEqualTo("Redis of unknown version");
  }
}
