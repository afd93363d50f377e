// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.Subject;
import io.limiter.core.redis.RedisScripts;
import io.limiter.core.testing.FaultProxy;
import io.limiter.core.testing.RedisProcess;
import io.limiter.idempotency.Found.Kind;
import io.limiter.idempotency.Holding.Times;
import io.limiter.idempotency.SubmissionService.Result;
import io.limiter.idempotency.Submissions.Attempt;
import io.limiter.idempotency.Submissions.Held;
import io.limiter.idempotency.Submissions.Request;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SubmissionServiceTest {

  private static final Duration PATIENCE = Duration.ofSeconds(20);
  private static final Subject ADA = new Subject("user", "ada");
  private static final byte[] ANSWER = "the answer".getBytes(UTF_8);

  @Singleton
  @Requires(property = "spec.name", value = "SubmissionServiceTest")
  static final class Results implements SubmissionService.Listener {

    final List<String> all = new CopyOnWriteArrayList<>();

    @Override
    public void known(String route, Result result) {
      all.add(route + " " + result);
    }
  }

  /** On this machine, since the proxy leads there. */
  private static final RedisProcess REDIS = RedisProcess.onFreePort();

  private final List<AutoCloseable> open = new ArrayList<>();
  private final String prefix = "t" + UUID.randomUUID().toString().substring(0, 8) + ":";

  @BeforeAll
  static void startRedis() {
    REDIS.start();
  }

  @AfterAll
  static void stopRedis() {
    REDIS.close();
  }

  @AfterEach
  void close() throws Exception {
    for (AutoCloseable some : open) {
      some.close();
    }
  }

  private ApplicationContext start(Object... settings) {
    Map<String, Object> all =
        new HashMap<>(
            Map.of("spec.name", "SubmissionServiceTest", "limiter.redis.key-prefix", prefix));
    for (int i = 0; i < settings.length; i += 2) {
      all.put(settings[i].toString(), settings[i + 1]);
    }
    ApplicationContext instance = ApplicationContext.run(all);
    open.add(instance);
    return instance;
  }

  private SubmissionService service(Object... settings) {
    return start(settings).getBean(SubmissionService.class);
  }

  private SubmissionService of(String store) {
    return store.equals("redis") ? service("redis.uri", REDIS.uri()) : service();
  }

  private FaultProxy proxy() {
    FaultProxy proxy = new FaultProxy(RedisURI.create(REDIS.uri()).getPort());
    open.add(0, proxy);
    return proxy;
  }

  private static StateKey key(String text) {
    return SubmissionService.key(ADA, "POST /payments", text);
  }

  private static Request request(SubmissionService service, String key) {
    StateKey name = key(key);
    return new Request(
        name,
        service.fingerprints().head(name, "POST", "/payments"),
        Entry.NONE,
        Times.of(Duration.ofMinutes(1), Duration.ofHours(1), Duration.ofHours(1)),
        "POST /payments");
  }

  private static Attempt claim(SubmissionService service, String key) {
    return claim(service, key, Duration.ZERO);
  }

  private static Attempt claim(SubmissionService service, String key, Duration wait) {
    return SubmissionStoreContract.join(service.claim(request(service, key), wait));
  }

  private static Held running(SubmissionService service, String key) {
    Held held = claim(service, key).held();
    assertThat(held).isNotNull();
    assertThat(held.enter()).isTrue();
    return held;
  }

  private static Kind look(SubmissionService service, String key) {
    return SubmissionStoreContract.join(service.look(request(service, key))).kind();
  }

  private static void assertAnswered(SubmissionService service, String key) {
    await()
        .atMost(PATIENCE)
        .ignoreExceptions()
        .untilAsserted(() -> assertThat(look(service, key)).isEqualTo(Kind.ANSWERED));
    byte[] stored = claim(service, key).found().answer();
    assertThat(service.open(key(key), stored))
        .hasValueSatisfying(answer -> assertThat(answer).isEqualTo(ANSWER));
  }

  private static void assertAway(CompletableFuture<?> stage) {
    assertThat(stage)
        .failsWithin(PATIENCE)
        .withThrowableOfType(ExecutionException.class)
        .withCauseInstanceOf(StoreException.class);
  }

  private static void assertAway(SubmissionService service, String key) {
    assertAway(service.claim(request(service, key), Duration.ZERO).toCompletableFuture());
  }

  @Test
  void theKeysOfASubjectShareItsTag() {
    StateKey key = SubmissionService.key(ADA, "a", "1");
    assertThat(SubmissionService.key(ADA, "b", "2").tag()).isEqualTo(key.tag());
    assertThat(SubmissionService.key(new Subject("user", "bob"), "a", "1").tag())
        .isNotEqualTo(key.tag());
    Set<String> names = new HashSet<>();
    for (String[] scopeAndKey :
        new String[][] {{"a", "1"}, {"b", "1"}, {"a", "2"}, {"a1", ""}, {"", "a1"}, {"1:a", "1"}}) {
      assertThat(names.add(SubmissionService.key(ADA, scopeAndKey[0], scopeAndKey[1]).name()))
          .isTrue();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"redis", "memory"})
  void aSubmissionIsFoundClaimedAnsweredAndForgotten(String store) {
    SubmissionService service = of(store);
    assertThat(look(service, "1")).isEqualTo(Kind.ABSENT);
    Held held = running(service, "1");
    assertThat(look(service, "1")).isEqualTo(Kind.RUNNING);
    CompletableFuture<Attempt> waiting =
        service.claim(request(service, "1"), PATIENCE).toCompletableFuture();
    assertThat(claim(service, "1").found().kind()).isEqualTo(Kind.RUNNING);
    assertThat(waiting).isNotDone();
    assertThat(service.waiting()).isEqualTo(1);
    service.end(held, key("1"), ANSWER);

    assertThat(SubmissionStoreContract.join(waiting).found().answer()).isEqualTo(ANSWER);
    assertAnswered(service, "1");
    assertThat(service.waiting()).isZero();
    SubmissionStoreContract.join(service.forget(key("1")));
    assertThat(look(service, "1")).isEqualTo(Kind.ABSENT);
  }

  @Test
  void instancesShareRedis() {
    SubmissionService one = of("redis");
    SubmissionService two = of("redis");
    Held held = running(one, "1");
    assertThat(claim(two, "1").found().kind()).isEqualTo(Kind.RUNNING);
    one.end(held, key("1"), ANSWER);
    assertAnswered(two, "1");
  }

  @Test
  void aLostRedisDeniesByDefault() {
    FaultProxy proxy = proxy();
    SubmissionService service = service("redis.uri", proxy.uri());
    Held held = running(service, "1");
    proxy.rejectConnections();
    proxy.reset();

    assertAway(service, "1");
    assertAway(service, "2");
    assertAway(service.look(request(service, "2")).toCompletableFuture());
    assertAway(service.forget(key("2")).toCompletableFuture());
    service.end(held, key("1"), ANSWER);
    assertThat(service.pendingBytes()).isEqualTo(ANSWER.length);

    proxy.pass();
    assertAnswered(service, "1");
    await().untilAsserted(() -> assertThat(service.pendingBytes()).isZero());
  }

  /** Row 12 of the list of faults: the memory knows what is held in Redis, and Redis' place. */
  @Test
  void aLocalFallbackRunsNothingBesideWhatRuns() {
    FaultProxy proxy = proxy();
    SubmissionService service =
        service("redis.uri", proxy.uri(), "limiter.idempotency.fallback", "local");
    Held shared = running(service, "shared");
    proxy.rejectConnections();
    proxy.reset();

    assertThat(claim(service, "shared").found().kind()).isEqualTo(Kind.RUNNING);
    assertThat(look(service, "shared")).isEqualTo(Kind.RUNNING);
    assertThat(look(service, "local")).isEqualTo(Kind.ABSENT);
    Held local = running(service, "local");
    Held answered = running(service, "answered");
    service.end(answered, key("answered"), ANSWER);
    assertThat(claim(service, "local").found().kind()).isEqualTo(Kind.RUNNING);
    assertAnswered(service, "answered");
    CompletableFuture<Attempt> waiting =
        service.claim(request(service, "shared"), PATIENCE).toCompletableFuture();

    proxy.pass();
    SubmissionService other = of("redis");
    await().atMost(PATIENCE).untilAsserted(() -> assertThat(reaches(service, other)).isTrue());
    assertThat(claim(service, "local").found().kind()).isEqualTo(Kind.RUNNING);
    assertThat(look(service, "local")).isEqualTo(Kind.RUNNING);
    assertAnswered(service, "answered");
    service.end(local, key("local"), ANSWER);
    assertAnswered(service, "local");
    service.end(shared, key("shared"), ANSWER);
    assertAnswered(other, "shared");
    assertThat(SubmissionStoreContract.join(waiting).found().answer()).isEqualTo(ANSWER);
  }

  /** Whether a claim of one is seen by the other. */
  private static boolean reaches(SubmissionService service, SubmissionService other) {
    String key = UUID.randomUUID().toString();
    claim(service, key);
    return look(other, key) == Kind.RUNNING;
  }

  @Test
  void answersAreEncryptedWithAnotherNonceEach() {
    Object[] settings = {
      "redis.uri",
      REDIS.uri(),
      "limiter.idempotency.encryption.current",
      "a",
      "limiter.idempotency.encryption.keys.a",
      "MDEyMzQ1Njc4OWFiY2RlZg=="
    };
    ApplicationContext one = start(settings);
    SubmissionService service = one.getBean(SubmissionService.class);
    Set<String> stored = new HashSet<>();
    try (RedisClient client = RedisClient.create(REDIS.uri())) {
      RedisCommands<byte[], byte[]> redis = client.connect(ByteArrayCodec.INSTANCE).sync();
      for (String key : new String[] {"1", "2", "3"}) {
        service.end(running(service, key), key(key), ANSWER);
        assertAnswered(service, key);
        byte[] value = redis.get(one.getBean(RedisScripts.class).name(key(key)));
        assertThat(new String(value, UTF_8)).doesNotContain("the answer");
        byte[] answer = claim(service, key).found().answer();
        assertThat(stored.add(new String(answer, 3, 12, ISO_8859_1))).isTrue();
      }
    }
    assertAnswered(service(settings), "1");
    byte[] moved = claim(service, "1").found().answer();
    assertThat(service.open(key("2"), moved)).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "limiter.idempotency.max-bytes-in-redis",
        "limiter.idempotency.max-bytes-of-subject",
        "limiter.idempotency.max-pending-bytes"
      })
  void anAnswerWithoutRoomIsDone(String bound) {
    ApplicationContext instance = start("redis.uri", REDIS.uri(), bound, 9);
    SubmissionService service = instance.getBean(SubmissionService.class);
    service.end(running(service, "1"), key("1"), ANSWER);

    await()
        .atMost(PATIENCE)
        .untilAsserted(() -> assertThat(look(service, "1")).isEqualTo(Kind.DONE));
    List<String> results = instance.getBean(Results.class).all;
    await()
        .atMost(PATIENCE)
        .untilAsserted(() -> assertThat(results).containsExactly("POST /payments NO_ROOM"));
  }

  @Test
  void whatEndsWithoutAnAnswerIsReported() {
    ApplicationContext instance = start("redis.uri", REDIS.uri());
    SubmissionService service = instance.getBean(SubmissionService.class);
    List<String> results = instance.getBean(Results.class).all;
    claim(service, "1").held().abandon();
    await().untilAsserted(() -> assertThat(results).containsExactly("POST /payments RELEASED"));
    results.clear();
    Held held = running(service, "1");
    SubmissionStoreContract.join(service.forget(key("1")));
    service.end(held, key("1"), ANSWER);
    await().untilAsserted(() -> assertThat(results).containsExactly("POST /payments LOST"));
  }

  /** An end that no store has is written once more before the service ends. */
  @Test
  void theLastEndsAreWrittenBeforeTheServiceEnds() {
    FaultProxy proxy = proxy();
    ApplicationContext instance = start("redis.uri", proxy.uri());
    SubmissionService service = instance.getBean(SubmissionService.class);
    Held held = running(service, "1");
    proxy.rejectConnections();
    proxy.reset();
    service.end(held, key("1"), ANSWER);
    await()
        .pollDelay(Duration.ofMillis(500))
        .untilAsserted(() -> assertThat(service.pendingBytes()).isPositive());
    proxy.pass();
    await().atMost(PATIENCE).ignoreExceptions().until(() -> look(service, "2") == Kind.ABSENT);
    instance.close();

    assertThat(look(of("redis"), "1")).isEqualTo(Kind.ANSWERED);
  }

  /** A consumer may receive its first message while the application starts. */
  @Test
  void theFirstClaimWaitsForTheFirstConnection() {
    FaultProxy proxy = proxy();
    proxy.delay(Duration.ofMillis(400));
    ApplicationContext instance =
        ApplicationContext.builder(
                Map.of(
                    "spec.name",
                    "SubmissionServiceTest.early",
                    "redis.uri",
                    proxy.uri(),
                    "limiter.redis.deadline",
                    "5s",
                    "limiter.redis.key-prefix",
                    prefix))
            .start();
    open.add(instance);
    assertThat(SubmissionStoreContract.join(instance.getBean(Early.class).claimed).held())
        .isNotNull();
  }

  @Context
  @Requires(property = "spec.name", value = "SubmissionServiceTest.early")
  static final class Early {

    final CompletionStage<Attempt> claimed;

    Early(SubmissionService service) {
      claimed = service.claim(request(service, "1"), Duration.ZERO);
      assertThat(claimed.toCompletableFuture()).as("not connected").isNotDone();
    }
  }
}
