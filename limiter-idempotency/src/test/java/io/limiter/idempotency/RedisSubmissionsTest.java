// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import io.limiter.core.FailureReason;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.Subject;
import io.limiter.core.redis.FakeRedis;
import io.limiter.core.redis.RedisScripts;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.RedisStore;
import io.limiter.core.redis.SharedConnection;
import io.limiter.core.redis.TestRedis;
import io.limiter.core.testing.RedisFixture;
import io.limiter.idempotency.Entry.Kept;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RedisSubmissionsTest implements SubmissionStoreContract {

  private static final Duration PATIENCE = Duration.ofSeconds(10);

  private static final RedisSettings SETTINGS =
      new RedisSettings(
          "test-" + UUID.randomUUID().toString().substring(0, 8) + ":", Duration.ofSeconds(10));

  private static RedisClient client;
  private static StatefulRedisConnection<byte[], byte[]> connection;
  private static RedisStore limits;
  private static RedisScripts scripts;

  private final SubmissionStore store = new RedisSubmissions(scripts, BYTES_OF_SUBJECT);

  @BeforeAll
  static void connect() {
    RedisURI uri = RedisURI.create(RedisFixture.uri());
    client = RedisClient.create(uri);
    connection = client.connect(ByteArrayCodec.INSTANCE);
    SharedConnection shared = SharedConnection.open(uri, SETTINGS);
    SubmissionStoreContract.join(shared.firstAttempt());
    limits = new RedisStore(shared, SETTINGS);
    scripts = limits.scripts();
  }

  @AfterAll
  static void disconnect() {
    limits.close();
    client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
  }

  @AfterEach
  void forgetAll() {
    keys().forEach(redis()::del);
  }

  private static RedisCommands<byte[], byte[]> redis() {
    return connection.sync();
  }

  private static Iterable<byte[]> keys() {
    return TestRedis.keys(redis(), SETTINGS.prefix() + "*");
  }

  @Override
  public SubmissionStore store() {
    return store;
  }

  /** Redis' clock cannot be set, but its expiry can. */
  @Override
  public void pass(Duration time) {
    for (byte[] key : keys()) {
      redis().pexpire(key, redis().pttl(key) - time.toMillis());
    }
  }

  @AfterEach
  void everythingHasATimeToLive() {
    keys().forEach(key -> assertThat(redis().pttl(key)).isNotEqualTo(-1));
  }

  /** As claim.lua describes it. */
  @Test
  void aValueHasTheDocumentedLayout() {
    byte[] name = scripts.name(KEY);
    claim(by('1'));
    assertThat(redis().get(name)).isEqualTo(value("\1C", '1', HEAD, new byte[16], ""));
    join(store.renew(by('1').withBody(BODY), MINUTE));
    assertThat(redis().get(name)).isEqualTo(value("\1C", '1', HEAD, BODY, ""));
    end(by('1'), End.DONE);
    assertThat(redis().get(name)).isEqualTo(value("\1D", '1', HEAD, BODY, ""));
    end(by('1'), answer("first"));
    assertThat(redis().get(name)).isEqualTo(value("\1A", '1', HEAD, BODY, "first"));
  }

  /** What differs (422) reads no more than a short answer, however long that is which is kept. */
  @ParameterizedTest
  @CsvSource({"0, ANSWERED", "4096, ANSWERED", "4097, UNREAD", "262144, UNREAD"})
  void aLongAnswerIsReadWithTheFingerprintOfItsBody(int length, Found.Kind withoutBody) {
    SubmissionStore large = new RedisSubmissions(scripts, 1 << 20);
    String text = "x".repeat(length);
    claim(by('1'));
    join(large.end(by('1').withBody(BODY), answer(text), HOUR));

    for (Found found : List.of(claim(by('2')), join(store.look(by('2'))))) {
      assertThat(found.kind()).isEqualTo(withoutBody);
      assertThat(found.answer()).hasSize(withoutBody == Found.Kind.ANSWERED ? length : 0);
      assertThat(found.differsFrom(OTHER)).isTrue();
      assertThat(found.differsFrom(BODY)).isFalse();
    }
    assertThat(join(store.look(by('2').withBody(OTHER))).kind()).isEqualTo(Found.Kind.DIFFERENT);
    Found read = join(store.look(by('2').withBody(BODY)));
    assertThat(read.kind()).isEqualTo(Found.Kind.ANSWERED);
    assertThat(read.answer()).asString(StandardCharsets.US_ASCII).isEqualTo(text);
  }

  private static byte[] value(String state, char token, byte[] head, byte[] body, String answer) {
    ByteArrayOutputStream value = new ByteArrayOutputStream();
    value.writeBytes(state.getBytes(StandardCharsets.US_ASCII));
    value.writeBytes(SubmissionStoreContract.filled(token));
    value.writeBytes(head);
    value.writeBytes(body);
    value.writeBytes(answer.getBytes(StandardCharsets.US_ASCII));
    return value.toByteArray();
  }

  private static Claim by(char token) {
    return SubmissionStoreContract.by(token);
  }

  private static End answer(String text) {
    return SubmissionStoreContract.answer(text);
  }

  private static <T> T join(CompletionStage<T> stage) {
    return SubmissionStoreContract.join(stage);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "\1C", "strange", "\1C 47", "\1X 48", "\2C 48", "RC 48"})
  void bytesThatAreNoValueAreRemovedWithAnError(String content) {
    String[] parts = content.split(" ", -1);
    String filled = parts.length > 1 ? "x".repeat(Integer.parseInt(parts[1])) : "";
    byte[] name = scripts.name(KEY);
    redis().psetex(name, HOUR.toMillis(), TestRedis.bytes(parts[0] + filled));

    assertThat(join(store.renew(by('x'), MINUTE))).isFalse();
    assertThat(store.claim(by('1'), MINUTE))
        .failsWithin(PATIENCE)
        .withThrowableThat()
        .withMessageContaining("answered with the error ERR");
    assertThat(redis().exists(name)).isZero();
  }

  /** It would block the submission for ever. */
  @Test
  void aValueWithoutAnEndIsRemovedWithAnError() {
    claim(by('1'));
    redis().persist(scripts.name(KEY));
    assertThat(store.claim(by('2'), MINUTE))
        .failsWithin(PATIENCE)
        .withThrowableThat()
        .withMessageContaining("answered with the error ERR");
    assertFinds(Found.Kind.CLAIMED);
  }

  /** However many answers there are, and however old: twice the capacity at most. */
  @Test
  void theAnswersOfASubjectTakeAtMostTwiceItsBytes() {
    int stored = 0;
    for (int i = 0; i < 40; i++) {
      Claim claim = SubmissionStoreContract.by(SUBJECT.answers("key-" + i), 'x');
      claim(claim);
      if (join(store.end(claim, answer("x".repeat(50)), HOUR)) == Kept.KEPT) {
        stored++;
      }
    }
    assertThat(stored).isEqualTo(BYTES_OF_SUBJECT / 100); // a value has 50 bytes beside an answer
    assertThat(redis().pttl(scripts.name(RedisSubmissions.bucket(KEY.tag(), HOUR))))
        .isBetween(HOUR.minus(SLACK).toMillis(), HOUR.toMillis());
  }

  /** Also the reply to another command: it could be the answer of another caller. */
  @ParameterizedTest
  @CsvSource({
    "claim, ''",
    "claim, 1111111111111111",
    "claim, 1111111111111111Q",
    "claim, 1111111111111111R",
    "claim, 1111111111111111L",
    "claim, 1111111111111111A12345678123456781234567",
    "claim, 2222222222222222C",
    "claim, 2222222222222222A123456781234567812345678answer",
    "renew, 2222222222222222H",
    "renew, 1111111111111111K",
    "end, 2222222222222222K",
    "end, 1111111111111111H",
    "end, K",
  })
  void anUnreadableReplyIsAnError(String command, String reply) {
    FakeRedis fake = new FakeRedis();
    boolean[] renewed = new boolean[1];
    try (RedisStore other =
        new RedisStore(fake.source(() -> renewed[0] = true), RedisSettings.defaults())) {
      SubmissionStore strange = new RedisSubmissions(other.scripts(), 1);
      CompletionStage<?> asked =
          switch (command) {
            case "claim" -> strange.claim(by('1'), MINUTE);
            case "renew" -> strange.renew(by('1'), MINUTE);
            default -> strange.end(by('1'), End.DONE, MINUTE);
          };
      fake.sent(0).complete(TestRedis.bytes(reply));

      assertThat(asked)
          .failsWithin(PATIENCE)
          .withThrowableThat()
          .havingCause()
          .isInstanceOfSatisfying(
              StoreException.class,
              failure -> assertThat(failure.reason()).isEqualTo(FailureReason.ERROR))
          .withMessage("Redis sent an unreadable reply to a script");
      assertThat(renewed[0]).as("the connection is out of step").isTrue();
    }
  }

  /** A claim of a second or two would end while the breaker is open. */
  @Test
  void renewalsAndEndsPassAnOpenBreaker() {
    FakeRedis fake = new FakeRedis();
    try (RedisStore other = new RedisStore(fake.source(() -> {}), SETTINGS)) {
      SubmissionStore away = new RedisSubmissions(other.scripts(), 1);
      for (int i = 0; i < 5; i++) {
        CompletionStage<Found> asked = away.claim(by('1'), MINUTE);
        fake.sent(i).completeExceptionally(new RedisException("Connection disconnected"));
        assertFails(asked, FailureReason.DISCONNECTED);
      }
      assertFails(away.claim(by('1'), MINUTE), FailureReason.BREAKER_OPEN);
      assertFails(away.look(by('1')), FailureReason.BREAKER_OPEN);

      CompletionStage<Boolean> failing = away.renew(by('1'), MINUTE);
      fake.sent(5).completeExceptionally(new RedisException("Connection disconnected"));
      assertFails(failing, FailureReason.DISCONNECTED);
      CompletionStage<Kept> end = away.end(by('1'), End.DONE, MINUTE);
      assertFails(away.claim(by('2'), MINUTE), FailureReason.BREAKER_OPEN);
      fake.sent(6).complete(TestRedis.bytes("1111111111111111K"));
      assertThat(end).succeedsWithin(PATIENCE).isEqualTo(Kept.KEPT);

      CompletionStage<Found> next = away.claim(by('2'), MINUTE);
      fake.sent(7).complete(TestRedis.bytes("2222222222222222C"));
      assertThat(next).as("closed by the answer").succeedsWithin(PATIENCE);
    }
  }

  private static void assertFails(CompletionStage<?> asked, FailureReason reason) {
    assertThat(asked)
        .failsWithin(PATIENCE)
        .withThrowableThat()
        .havingCause()
        .isInstanceOfSatisfying(
            StoreException.class, failure -> assertThat(failure.reason()).isEqualTo(reason));
  }

  /** With a key secret a reader of Redis finds neither subject nor key in the names. */
  @Test
  void namesHaveThePrefixAndOneTagForASubject() {
    String name = new String(scripts.name(KEY), StandardCharsets.US_ASCII);
    assertThat(name).startsWith(SETTINGS.prefix() + '{' + KEY.tag() + "}:a.");
    RedisSettings hidden = SETTINGS.withKeySecret(RedisSettings.KeySecret.of("a long secret text"));
    try (RedisStore other = new RedisStore(new FakeRedis().source(() -> {}), hidden)) {
      assertThat(new String(other.scripts().name(KEY), StandardCharsets.US_ASCII))
          .doesNotContain(KEY.tag())
          .doesNotContain(KEY.name());
    }
  }

  /** Redis and memory answer the same random commands alike. */
  @Test
  void theScriptsDoWhatMemoryDoes() {
    MemorySubmissions memory =
        new MemorySubmissions(1_000, Long.MAX_VALUE, Long.MAX_VALUE, System::nanoTime);
    SubmissionStore redis = new RedisSubmissions(scripts, 1L << 40);
    Random random = new Random(7);
    StateKey subject = StateKey.of("submissions", new Subject("user", "eve"));
    for (int i = 0; i < 3_000; i++) {
      byte[][] bodies = {Entry.NONE, BODY, OTHER};
      Claim claim =
          new Claim(
              subject.answers("key-" + random.nextInt(2)),
              SubmissionStoreContract.filled((char) ('1' + random.nextInt(3))),
              random.nextInt(8) == 0 ? OTHER : HEAD,
              bodies[random.nextInt(bodies.length)]);
      End[] ends = {answer("answer-" + i), End.DONE, End.RELEASE};
      End end = ends[random.nextInt(ends.length)];
      switch (random.nextInt(4)) {
        case 0 -> assertAlike(i, memory.claim(claim, HOUR), redis.claim(claim, HOUR));
        case 1 ->
            assertThat(join(redis.renew(claim, HOUR))).isEqualTo(join(memory.renew(claim, HOUR)));
        case 2 ->
            assertThat(join(redis.end(claim, end, HOUR)))
                .isEqualTo(join(memory.end(claim, end, HOUR)));
        default -> {
          if (random.nextInt(10) == 0) {
            join(memory.forget(claim.key()));
            join(redis.forget(claim.key()));
          }
        }
      }
    }
  }

  private static void assertAlike(int i, CompletionStage<Found> one, CompletionStage<Found> other) {
    Found expected = join(one);
    Found found = join(other);
    assertThat(found.kind()).as("command %s", i).isEqualTo(expected.kind());
    assertThat(found.body()).isEqualTo(expected.body());
    assertThat(found.answer()).isEqualTo(expected.answer());
  }
}
