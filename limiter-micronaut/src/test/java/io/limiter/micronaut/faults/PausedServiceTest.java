// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.faults;

import static io.limiter.core.faults.FaultBench.pass;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.limiter.core.redis.AuditedStore;
import io.limiter.core.testing.FaultProxy;
import io.limiter.core.testing.RedisProcess;
import java.io.IOException;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The JVM of a service stands still under load, and Redis does not. */
@Tag("faults")
class PausedServiceTest {

  private static final Logger LOG = LoggerFactory.getLogger(PausedServiceTest.class);

  private static final int PER_SECOND = 200;
  private static final Duration SECOND = Duration.ofSeconds(1);

  /** So that calls are under way at any moment: at this rate, six. */
  private static final Duration WAY = Duration.ofMillis(30);

  /** Few, so that what has waited for the end of the pause is no flood. */
  private static final int CONNECTIONS = 20;

  private final RedisProcess redis = RedisProcess.onFreePort().start();
  private final FaultProxy proxy = new FaultProxy(redis.port());

  /** The numbers of the requests that were answered, in an answer of their own. */
  private final Set<String> answered = ConcurrentHashMap.newKeySet();

  private final AtomicLong wrong = new AtomicLong();

  @AfterEach
  void close() {
    proxy.close();
    redis.close();
  }

  @Test
  @DisplayName("F30: the JVM stands still for four seconds (SIGSTOP) and continues")
  void aPauseOfTheServiceIsNotTakenForOneOfRedis() throws IOException {
    pause("event-loop", Duration.ofSeconds(4));
  }

  @ParameterizedTest
  @ValueSource(strings = {"event-loop", "shared"})
  @DisplayName("F30: the JVM stands still for six seconds (SIGSTOP) and continues")
  void aLongPauseOfTheServiceIsNotTakenForOneOfRedis(String connections) throws IOException {
    pause(connections, Duration.ofSeconds(6));
  }

  /** A lease has a quarter more units than are spent, so some are left whenever the JVM stops. */
  @Test
  @DisplayName("F30: the JVM stands still for two seconds (SIGSTOP) while it has a lease of one")
  void nothingIsSpentAfterTheEndOfALease() throws IOException {
    proxy.delay(WAY);
    try (ServiceProcess service = ServiceProcess.start(proxy.uri(), "event-loop");
        HttpLoad load = load(service, "leased")) {
      awaitOnly("LEASE", service);
      Map<String, Long> before = service.endings();

      service.suspend();
      pass(SECOND.multipliedBy(2));
      service.resume();
      awaitOnly("LEASE", service);
      Map<String, Long> endings = difference(before, service.endings());
      Tally answers = load.stop();
      await().atMost(Duration.ofSeconds(20)).until(answers::complete);
      LOG.info("A pause during a lease: {}; {}", endings, answers);

      assertThat(endings).containsKeys("LEASE", "STORE");
      assertThat(service.endings()).doesNotContainKey(PausedService.SPENT_LATE);
      assertAnsweredOnce(answers);
      assertRanAtMostOnce(service);
    }
  }

  private HttpLoad load(ServiceProcess service, String route) {
    return HttpLoad.start(
        service.port(),
        CONNECTIONS,
        1,
        PER_SECOND,
        n -> "/paused/" + route + "/" + n,
        this::answer);
  }

  private void pause(String connections, Duration time) throws IOException {
    proxy.delay(WAY);
    try (ServiceProcess service = ServiceProcess.start(proxy.uri(), connections);
        HttpLoad load = load(service, "call")) {
      awaitOnly("STORE", service);
      int connected = proxy.accepted();
      Map<String, Long> before = service.endings();

      service.suspend();
      pass(time);
      service.resume();
      pass(SECOND);
      Map<String, Long> endings = difference(before, service.endings());
      Tally answers = load.stop();
      await().atMost(Duration.ofSeconds(20)).until(answers::complete);
      LOG.info("A pause of {}: {}; {}", time, endings, answers);

      assertThat(endings)
          .as("heals at once")
          .hasEntrySatisfying(
              "STORE", decided -> assertThat(decided).isGreaterThan(PER_SECOND / 2));
      assertThat(endings.keySet())
          .as("replies in the socket are read, unless the hard deadline ends their calls before")
          .containsAnyOf("paused STORE", "paused PROCESS_LATE");
      assertThat(endings.keySet())
          .as("neither the breaker nor a connection took the pause for a failure")
          .isSubsetOf(
              "STORE",
              "paused STORE",
              "TIMEOUT",
              "paused TIMEOUT",
              "PROCESS_LATE",
              "paused PROCESS_LATE");
      assertThat(proxy.accepted()).as("connections to Redis").isEqualTo(connected);
      assertAnsweredOnce(answers);
      assertRanAtMostOnce(service);
    }
  }

  /** No decision reached two requests, nor one request twice. */
  private void assertAnsweredOnce(Tally answers) {
    assertThat(answers.strange).hasValue(0);
    assertThat(wrong).as("answers to another request").hasValue(0);
    assertThat(answered).hasSize((int) answers.sent.get());
  }

  /** Each call ended once for its caller, and ran in Redis once at most. */
  private void assertRanAtMostOnce(ServiceProcess service) {
    List<String> executed = executed();
    List<String> confirmed = service.nonces(true);
    List<String> unknown = service.nonces(false);
    assertThat(Stream.concat(confirmed.stream(), unknown.stream())).doesNotHaveDuplicates();
    assertThat(executed).doesNotHaveDuplicates().containsAll(confirmed);
    Set<String> unconfirmed = new HashSet<>(executed);
    confirmed.forEach(unconfirmed::remove);
    assertThat(unknown).containsAll(unconfirmed);
  }

  private List<String> executed() {
    RedisClient client = RedisClient.create(redis.uri());
    try (StatefulRedisConnection<String, String> connection = client.connect()) {
      return connection.sync().lrange(AuditedStore.AUDIT, 0, -1);
    } finally {
      client.shutdown();
    }
  }

  /** Until all calls of a second have ended in this way. */
  private static void awaitOnly(String ending, ServiceProcess service) {
    await()
        .atMost(Duration.ofSeconds(60))
        .until(
            () -> {
              Map<String, Long> before = service.endings();
              pass(SECOND);
              return difference(before, service.endings()).keySet().equals(Set.of(ending));
            });
  }

  private static Map<String, Long> difference(Map<String, Long> before, Map<String, Long> after) {
    Map<String, Long> more = new TreeMap<>(after);
    before.forEach((ending, count) -> more.merge(ending, -count, Long::sum));
    more.values().removeIf(count -> count == 0);
    return more;
  }

  private void answer(String path, int status, String body) {
    boolean own = status == 200 && path.endsWith("/" + body) && answered.add(body);
    if (!own) {
      wrong.incrementAndGet();
    }
  }
}
