// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.faults;

import static io.limiter.core.faults.FaultBench.pass;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisClient;
import io.lettuce.core.ScanIterator;
import io.lettuce.core.api.StatefulRedisConnection;
import io.limiter.core.DecidedBy;
import io.limiter.micronaut.behaviour.LoggedWarnings;
import io.netty.buffer.ByteBufAllocator;
import io.netty.util.ResourceLeakDetector;
import java.time.Duration;
import java.time.format.DateTimeParseException;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A service with the settings that it comes with, under steady load for as long as one likes: a
 * minute, or the time of {@code -Dlimiter.soak} ({@code PT1H}). Nothing of it grows, and no subject
 * is admitted once too often.
 */
@Tag("soak")
class SoakTest {

  private static final Logger LOG = LoggerFactory.getLogger(SoakTest.class);

  private static final String TIME = "limiter.soak";
  private static final int PER_SECOND = 300;

  /** Each requests twice its limit of a route. */
  private static final int CALLERS = 10;

  private static final Duration SECOND = Duration.ofSeconds(1);

  /** After this every class is loaded, every thread started and every pool as large as it gets. */
  private static final Duration WARM_UP = SECOND.multipliedBy(15);

  /** Between two looks at what may not happen. */
  private static final Duration LOOK = SECOND.multipliedBy(10);

  private static final long MEGABYTE = 1 << 20;

  private final ResourceLeakDetector.Level usual = ResourceLeakDetector.getLevel();
  private final AdmissionLog admissions = new AdmissionLog(LimitedService.COUNT, SECOND);

  @BeforeEach
  void watchEveryBuffer() {
    ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.PARANOID);
  }

  @AfterEach
  void watchAsUsual() {
    ResourceLeakDetector.setLevel(usual);
  }

  @Test
  @DisplayName("F35: a service under load for long")
  void aServiceUnderLoadForLongIsAsItWasAtFirst() {
    Duration time = time();
    try (LoggedWarnings warnings = LoggedWarnings.begin();
        // Whatever the machine does, Redis decides: so the counts are exact.
        LimitedService service =
            new LimitedService(
                "auto",
                Map.of("limiter.redis.deadline", "10s", "limiter.redis.start-timeout", "10s"));
        KeysOfRedis keys = new KeysOfRedis(service.redis.uri());
        HttpLoad load =
            HttpLoad.start(
                service.port(),
                PER_SECOND / 5,
                CALLERS,
                PER_SECOND,
                this::path,
                (path, status, body) -> admissions.answered(path, key(path), status == 200))) {
      await()
          .atMost(Duration.ofMinutes(1))
          .until(() -> service.decisions.by(DecidedBy.STORE) > PER_SECOND);
      pass(WARM_UP);
      Set<String> threads = LimitedService.threads();
      long heap = LimitedService.heap();
      long admitted = admissions.admitted();
      load.nextTally();
      service.decisions.forget();

      Set<String> more = new HashSet<>();
      for (Duration rest = time; rest.compareTo(Duration.ZERO) > 0; rest = rest.minus(LOOK)) {
        pass(rest.compareTo(LOOK) < 0 ? rest : LOOK);
        more.addAll(LimitedService.threads());
        assertThat(admissions.violations()).as("more admitted than may be").isEmpty();
        assertThat(keys.withoutExpiry()).as("keys that would stay for ever").isEmpty();
      }
      long grown = LimitedService.heap() - heap;
      Tally answers = load.stop();
      await().atMost(Duration.ofSeconds(30)).until(answers::complete);
      LOG.info(
          "{} under load: {}; {}; heap {} kB more",
          time,
          answers,
          service.decisions,
          grown / 1_024);

      assertThat(admissions.violations()).as("more admitted than may be").isEmpty();
      assertThat(admissions.admitted() - admitted)
          .as("admitted: each stranger, and half of what the others may have of two routes")
          .isGreaterThan(time.toSeconds() * (PER_SECOND / 3 + CALLERS * LimitedService.COUNT));
      assertThat(answers.byStatus().keySet()).containsExactly(200, 429);
      assertThat(answers.strange).as("lost connections").hasValue(0);
      assertThat(service.decisions.failed()).as("decisions that failed").isZero();
      assertThat(service.decisions.by(DecidedBy.FALLBACK)).as("decided by the fallback").isZero();
      more.removeAll(threads);
      assertThat(more).as("threads that were not there before").isEmpty();
      assertThat(grown).as("growth of the heap").isLessThan(10 * MEGABYTE);
      await()
          .atMost(Duration.ofSeconds(30))
          .untilAsserted(() -> assertThat(keys.all()).as("keys once all have gone").isZero());
      reportLeaks();
      assertThat(warnings.excess()).as("warnings and leak reports").isEmpty();
    }
  }

  /** Two routes that know their callers and one for strangers take turns. */
  private String path(long number) {
    String route =
        switch ((int) (number / CALLERS % 3)) {
          case 0 -> "early";
          case 1 -> "late";
          default -> "stranger";
        };
    String path = "/calls/" + route + "?call=" + number;
    admissions.sent(path);
    return path;
  }

  /** Whose calls of which route; of strangers each. */
  private static String key(String path) {
    String route = path.substring(0, path.indexOf('?'));
    long number = Long.parseLong(path.substring(path.indexOf('=') + 1));
    return route.endsWith("stranger") ? path : route + " " + number % CALLERS;
  }

  /** A lost buffer is reported when the next ones are allocated. */
  private static void reportLeaks() {
    System.gc();
    for (int i = 0; i < 100; i++) {
      ByteBufAllocator.DEFAULT.buffer().release();
    }
  }

  private static Duration time() {
    String text = System.getProperty(TIME, "PT1M");
    try {
      return Duration.parse(text);
    } catch (DateTimeParseException e) {
      throw new IllegalArgumentException(
          "-D%s=%s is no duration: say PT90S, PT10M or PT1H".formatted(TIME, text), e);
    }
  }

  /** What is stored in a Redis that only one service uses. */
  static final class KeysOfRedis implements AutoCloseable {

    /** As PTTL answers of a key that stays. */
    private static final long NEVER = -1;

    private final RedisClient client;
    private final StatefulRedisConnection<String, String> connection;

    KeysOfRedis(String uri) {
      client = RedisClient.create(uri);
      connection = client.connect();
    }

    /** How many there are. */
    long all() {
      return connection.sync().dbsize();
    }

    List<String> withoutExpiry() {
      Stream<String> keys = ScanIterator.scan(connection.sync()).stream();
      return keys.filter(key -> connection.sync().pttl(key) == NEVER).toList();
    }

    @Override
    public void close() {
      connection.close();
      client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
    }
  }
}
