// SPDX-License-Identifier: Apache-2.0
package com.example.limits;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.redis.ConnectionSource;
import io.limiter.test.LimitTest;
import io.limiter.test.Limits;
import io.limiter.test.TestClock;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Property;
import io.micronaut.http.client.HttpClient;
import io.micronaut.http.client.annotation.Client;
import jakarta.inject.Inject;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Each test begins with nothing counted, and with the clock at its start. */
@LimitTest
@Property(name = "redis.uri", value = "redis://127.0.0.1:1")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ResetTest {

  @Inject
  @Client("/")
  HttpClient client;

  @Inject Limits limits;
  @Inject TestClock clock;
  @Inject ApplicationContext context;

  private Object read() {
    return client.toBlocking().exchange("/articles");
  }

  @BeforeAll
  void useUp() {
    limits.assertAdmits(10, this::read).thenDenies();
  }

  /** What a test prepares comes after the reset. */
  @BeforeEach
  void readOnce() {
    assertThat(clock.now()).isEqualTo(TestClock.START);
    limits.assertAdmits(1, this::read);
    clock.advance(1, ChronoUnit.HOURS);
    clock.set(TestClock.START.plusSeconds(1));
  }

  @RepeatedTest(2)
  void eachRepetitionBeginsAtZero() {
    limits.assertAdmits(9, this::read).thenDenies();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void eachCaseBeginsAtZero(int number) {
    limits.assertAdmits(9, this::read).thenDenies(number);
  }

  @Test
  void aTestCanResetByItself() {
    limits.assertAdmits(9, this::read).thenDenies();
    limits.reset();
    assertThat(clock.now()).isEqualTo(TestClock.START);
    limits.assertAdmits(10, this::read).thenDenies();
  }

  @Test
  void theLimiterDoesNotConnectToTheRedisOfTheConfiguration() {
    assertThat(context.containsBean(ConnectionSource.class)).isFalse();
  }

  @Nested
  class Within {

    @RepeatedTest(2)
    void eachNestedTestBeginsAtZero() {
      limits.assertAdmits(9, ResetTest.this::read).thenDenies();
    }

    @Nested
    @TestInstance(TestInstance.Lifecycle.PER_CLASS)
    class Deeper {

      @Test
      void alsoDeeper() {
        limits.assertAdmits(9, ResetTest.this::read).thenDenies();
      }

      @Test
      void windowsOfADayBeginAtMidnight() {
        clock.set(Instant.parse("2024-03-01T23:59:59.999999Z"));
        limits.assertAdmits(2, () -> client.toBlocking().exchange("/daily")).thenDenies();
        clock.advance(1, ChronoUnit.MICROS);
        limits.assertAdmits(2, () -> client.toBlocking().exchange("/daily")).thenDenies();
      }
    }
  }
}
