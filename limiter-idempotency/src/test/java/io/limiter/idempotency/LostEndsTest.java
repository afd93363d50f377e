// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.limiter.core.StateKey;
import io.limiter.core.Subject;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.RedisStore;
import io.limiter.core.redis.SharedConnection;
import io.limiter.core.testing.FaultProxy;
import io.limiter.core.testing.RedisProcess;
import io.limiter.core.testing.TypedCommand;
import io.limiter.idempotency.Holding.Times;
import io.limiter.idempotency.Submissions.Attempt;
import io.limiter.idempotency.Submissions.Held;
import io.limiter.idempotency.Submissions.Outcome;
import io.limiter.idempotency.Submissions.Request;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Two instances over a Redis that fails just as a method ends. */
@Tag("faults")
class LostEndsTest {

  private static final Duration PATIENCE = Duration.ofSeconds(30);

  /** How long a fault lasts: less than a claim lives, more than the breaker is open. */
  private static final Duration FAULT = Duration.ofMillis(1_500);

  private static final Times TIMES =
      Times.of(Duration.ofSeconds(10), Duration.ofMinutes(1), Duration.ofHours(1));

  /** Longer than a busy machine takes. */
  private static final RedisSettings SETTINGS =
      new RedisSettings(RedisSettings.DEFAULT_PREFIX, Duration.ofMillis(500));

  private final RedisProcess redis = RedisProcess.onFreePort().start();
  private final RedisClient admin = RedisClient.create(redis.uri());
  private final Instance first = new Instance();
  private final Instance second = new Instance();

  /** Otherwise the first end would be sent twice, and a fault would meet the first of the two. */
  @BeforeEach
  void loadScripts() throws IOException {
    try (StatefulRedisConnection<String, String> connection = admin.connect()) {
      for (String file : List.of("claim.lua", "renew.lua", "end.lua")) {
        try (InputStream script = RedisSubmissions.class.getResourceAsStream(file)) {
          connection.sync().scriptLoad(script.readAllBytes());
        }
      }
    }
  }

  @AfterEach
  void close() {
    first.close();
    second.close();
    admin.shutdown(Duration.ZERO, Duration.ofSeconds(2));
    redis.close();
  }

  /** A process with a connection of its own. */
  private final class Instance implements AutoCloseable {

    final FaultProxy proxy = new FaultProxy(redis.port());
    final RedisStore limits =
        new RedisStore(SharedConnection.open(RedisURI.create(proxy.uri()), SETTINGS), SETTINGS);
    final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
    final List<Outcome> outcomes = new CopyOnWriteArrayList<>();
    final Submissions submissions =
        new Submissions(
            new RedisSubmissions(limits.scripts(), 1_000_000),
            new Timing() {
              private final long begin = System.nanoTime();

              @Override
              public long nanos() {
                return System.nanoTime() - begin;
              }

              @Override
              public Future<?> schedule(Runnable task, long nanos) {
                return timer.schedule(task, nanos, TimeUnit.NANOSECONDS);
              }
            },
            new RandomBytes(Claim.TOKEN_BYTES, ForkJoinPool.commonPool()),
            1_000_000,
            (route, outcome) -> outcomes.add(outcome));

    Attempt claim(String key, Times times) {
      return SubmissionStoreContract.join(
          submissions.claim(new Request(key(key), new byte[16], Entry.NONE, times, "route")));
    }

    /** Once it is connected. */
    Held claimed(String key, Times times) {
      Attempt[] attempt = new Attempt[1];
      await()
          .atMost(PATIENCE)
          .ignoreExceptionsMatching(CompletionException.class::isInstance)
          .until(
              () -> {
                attempt[0] = claim(key, times);
                return attempt[0].found().kind() == Found.Kind.CLAIMED;
              });
      return attempt[0].held();
    }

    Held entered(String key, Times times) {
      Held held = claimed(key, times);
      assertThat(held.enter()).isTrue();
      return held;
    }

    /**
     * Repeats a submission until it finds something, and meanwhile nothing but a claim, or no
     * answer from Redis.
     */
    Found awaited(String key, Found.Kind kind) {
      Found[] found = new Found[1];
      await()
          .atMost(PATIENCE)
          .until(
              () -> {
                try {
                  found[0] = claim(key, TIMES).found();
                } catch (CompletionException away) {
                  return false;
                }
                assertThat(found[0].kind()).isIn(Found.Kind.RUNNING, kind);
                return found[0].kind() == kind;
              });
      return found[0];
    }

    @Override
    public void close() {
      timer.shutdownNow();
      limits.close();
      proxy.close();
    }
  }

  private static StateKey key(String key) {
    return StateKey.of("submissions", new Subject("user", "ada")).answers(key);
  }

  private void configure(String setting, String value) {
    try (StatefulRedisConnection<String, String> connection = admin.connect()) {
      connection.sync().configSet(setting, value);
    }
  }

  private enum Fault {
    CONNECTION_KILLED,
    REPLY_LOST,
    REPLY_LOST_WITH_THE_CONNECTION,
    SILENT_CONNECTION,
    AWAY,
    REFUSED,
    LATE;

    void begin(LostEndsTest of) {
      switch (this) {
        case CONNECTION_KILLED -> of.first.proxy.reset();
        case REPLY_LOST -> of.first.proxy.swallowReplyAfter(0);
        case REPLY_LOST_WITH_THE_CONNECTION -> of.first.proxy.cutAfterReplies(0);
        case SILENT_CONNECTION -> of.first.proxy.blackHoleOpenConnections();
        case AWAY -> of.first.proxy.rejectConnections();
        case REFUSED -> of.configure("min-replicas-to-write", "1");
        case LATE -> of.redis.suspend();
      }
    }

    void end(LostEndsTest of) {
      if (this == REFUSED) {
        of.configure("min-replicas-to-write", "0");
      } else if (this == LATE) {
        of.redis.resume();
      } else {
        of.first.proxy.pass();
      }
    }
  }

  /** But a reply that is lost alone: then the connection is out of step for ever. */
  @ParameterizedTest
  @EnumSource(value = Fault.class, mode = EnumSource.Mode.EXCLUDE, names = "REPLY_LOST")
  @DisplayName("the end of a method is stored, whatever happens to its first write")
  void theEndIsStored(Fault fault) throws InterruptedException {
    Held held = first.entered("key", TIMES);
    assertThat(second.awaited("key", Found.Kind.RUNNING).left()).isPositive();
    fault.begin(this);
    long before = System.nanoTime();
    held.end(SubmissionStoreContract.answer("first"));
    assertThat(Duration.ofNanos(System.nanoTime() - before))
        .as("nothing waits for the write")
        .isLessThan(Duration.ofMillis(500));
    TimeUnit.NANOSECONDS.sleep(FAULT.toNanos());
    fault.end(this);

    assertThat(second.awaited("key", Found.Kind.ANSWERED).answer())
        .asString(StandardCharsets.UTF_8)
        .isEqualTo("first");
    await().atMost(PATIENCE).until(() -> first.outcomes.contains(Outcome.KEPT));
    assertThat(first.outcomes).containsOnlyOnce(Outcome.KEPT).doesNotContain(Outcome.LOST);
    assertThat(first.submissions.pendingBytes()).isZero();
  }

  @Test
  @DisplayName("a Redis without memory keeps that a submission is done")
  void aFullRedisKeepsThatItIsDone() {
    Held held = first.entered("key", TIMES);
    configure("maxmemory", "1");
    held.end(SubmissionStoreContract.answer("first"));
    await().atMost(PATIENCE).until(() -> first.outcomes.equals(List.of(Outcome.NO_ROOM)));
    configure("maxmemory", "0");
    second.awaited("key", Found.Kind.DONE);
  }

  @Test
  @DisplayName("a Redis whose user may not run SET any more keeps that it is done")
  void aMissingRightIsNoMissingRoom() throws IOException {
    Held held = first.entered("key", TIMES);
    allow("-set");
    held.end(SubmissionStoreContract.answer("first"));
    await().atMost(PATIENCE).until(() -> first.outcomes.equals(List.of(Outcome.FORBIDDEN)));
    allow("+set");
    second.awaited("key", Found.Kind.DONE);
  }

  private void allow(String right) throws IOException {
    assertThat(TypedCommand.reply(redis.port(), "ACL SETUSER default " + right)).startsWith("+OK");
  }

  @Test
  @DisplayName("a method that outlives its claim many times runs once")
  void aSlowMethodKeepsItsClaim() {
    Times times = Times.of(Duration.ofSeconds(2), Duration.ofSeconds(2), Duration.ofHours(1));
    Held held = first.entered("key", times);
    long end = System.nanoTime() + Duration.ofSeconds(7).toNanos();
    while (System.nanoTime() < end) {
      assertThat(second.claim("key", times).found().kind()).isEqualTo(Found.Kind.RUNNING);
    }
    held.end(SubmissionStoreContract.answer("first"));
    second.awaited("key", Found.Kind.ANSWERED);
  }

  /** What the store has lost cannot be promised; the claim of the method that runs ends as lost. */
  @Test
  @DisplayName("a Redis that starts empty loses claims, and a late end changes nothing")
  void aLostClaimIsNotRevived() {
    Held held = first.entered("key", TIMES);
    redis.kill();
    redis.start();
    Held other = second.entered("key", TIMES);
    held.end(SubmissionStoreContract.answer("first"));
    await().atMost(PATIENCE).until(() -> first.outcomes.contains(Outcome.LOST));
    assertThat(second.claim("key", TIMES).found().kind()).isEqualTo(Found.Kind.RUNNING);
    other.end(SubmissionStoreContract.answer("second"));
    assertThat(second.awaited("key", Found.Kind.ANSWERED).answer())
        .asString(StandardCharsets.UTF_8)
        .isEqualTo("second");
  }

  @Test
  @DisplayName("the claim of a process that has died ends by itself, and not before")
  void theClaimOfADeadProcessEnds() {
    Times times = Times.of(Duration.ofSeconds(2), Duration.ofMinutes(1), Duration.ofHours(1));
    Held unused = first.entered("key", times);
    long before = System.nanoTime();
    first.close();
    Held held = second.entered("key", times);
    assertThat(Duration.ofNanos(System.nanoTime() - before))
        .isBetween(Duration.ofSeconds(1), PATIENCE);
    held.end(End.RELEASE);
    await().atMost(PATIENCE).until(() -> second.outcomes.contains(Outcome.RELEASED));
  }

  /** Otherwise a submission that never ran would block its repetitions for the time of a claim. */
  @ParameterizedTest
  @EnumSource(
      value = Fault.class,
      names = {"REPLY_LOST", "REPLY_LOST_WITH_THE_CONNECTION", "LATE"})
  @DisplayName("a claim without a reply is released")
  void aClaimWithoutAReplyIsReleased(Fault fault) {
    first.claimed("warm", TIMES).abandon();
    await().atMost(PATIENCE).until(() -> first.outcomes.contains(Outcome.RELEASED));
    fault.begin(this);
    assertThat(
            first.submissions.claim(
                new Request(key("key"), new byte[16], Entry.NONE, TIMES, "route")))
        .failsWithin(PATIENCE);
    fault.end(this);
    long before = System.nanoTime();
    second.claimed("key", TIMES).abandon();
    assertThat(Duration.ofNanos(System.nanoTime() - before))
        .isLessThan(Duration.ofSeconds(8)); // a claim lives for 10
  }
}
