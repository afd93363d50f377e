// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.RedisClient;
import io.lettuce.core.ScanArgs;
import io.lettuce.core.ScanIterator;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.limiter.core.testing.RecordedLog;
import io.limiter.core.testing.RedisFixture;
import io.limiter.micronaut.annotation.Idempotent;
import io.limiter.micronaut.call.AnswerCipher;
import io.limiter.micronaut.call.IdempotentCalls;
import io.limiter.micronaut.exception.IdempotentCallException.ResultUnavailableException;
import io.limiter.micronaut.testing.HttpService;
import io.limiter.micronaut.testing.Starts;
import io.micrometer.core.instrument.MeterRegistry;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.type.Argument;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Answers that are encrypted, by keys that rotate. */
class EncryptedAnswersTest {

  private static final String SPEC = "EncryptedAnswersTest";
  private static final String KEYS = "limiter.idempotency.encryption.keys.";
  private static final String CURRENT = "limiter.idempotency.encryption.current";
  private static final String A = base64(32, 'a');
  private static final String B = base64(16, 'b');

  /** The state, the token and the fingerprint before an answer. */
  private static final int HEAD = 49;

  private final String prefix = "t" + UUID.randomUUID().toString().substring(0, 8) + ":";
  private final List<HttpService> instances = new ArrayList<>();
  @AutoClose private final RedisClient client = RedisClient.create(RedisFixture.uri());

  @AutoClose
  private final StatefulRedisConnection<byte[], byte[]> redis =
      client.connect(ByteArrayCodec.INSTANCE);

  @AutoClose private final RecordedLog log = RecordedLog.of(AnswerCipher.class);

  @Controller("/encrypted")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    private static final AtomicInteger RUNS = new AtomicInteger();

    @Post
    @Idempotent
    String card() {
      return "card 4242 of run " + RUNS.incrementAndGet();
    }
  }

  private static String base64(int length, char filled) {
    return Base64.getEncoder()
        .encodeToString(String.valueOf(filled).repeat(length).getBytes(UTF_8));
  }

  private HttpService start(Object... settings) {
    Map<String, Object> all = HttpService.settings(settings);
    all.put("redis.uri", RedisFixture.uri());
    all.put("limiter.redis.key-prefix", prefix);
    all.put("limiter.redis.deadline", "5s");
    all.put("micronaut.metrics.enabled", true);
    HttpService instance = HttpService.start(SPEC, all);
    instances.add(instance);
    return instance;
  }

  @AfterEach
  void close() {
    instances.forEach(HttpService::close);
  }

  private static HttpResponse<String> post(HttpService instance, String key) {
    return instance.post("/encrypted", "{}", "Idempotency-Key", key);
  }

  private List<byte[]> keys() {
    return ScanIterator.scan(redis.sync(), ScanArgs.Builder.matches(prefix + "*a.*")).stream()
        .toList();
  }

  private byte[] value(byte[] key) {
    return redis.sync().get(key);
  }

  private static void assertUnavailable(HttpService instance, String key) {
    int runs = Routes.RUNS.get();
    double before = unreadable(instance);
    HttpResponse<String> answer = post(instance, key);
    assertThat(answer.statusCode()).isEqualTo(409);
    assertThat(answer.body()).contains("its response is not available").doesNotContain("4242");
    assertThat(Routes.RUNS).as("it does not run again").hasValue(runs);
    assertThat(unreadable(instance)).isEqualTo(before + 1);
  }

  private static double unreadable(HttpService instance) {
    var counter =
        instance
            .bean(MeterRegistry.class)
            .find("limiter.idempotency")
            .tag("result", "unreadable")
            .counter();
    return counter == null ? 0 : counter.count();
  }

  @Test
  void redisHasNothingOfAnAnswerInClear() {
    HttpService one = start(KEYS + "a", A, CURRENT, "a");
    HttpService other = start(KEYS + "a", A, CURRENT, "a");
    HttpResponse<String> first = post(one, "k");

    assertThat(first.body()).startsWith("card 4242");
    HttpResponse<String> again = post(other, "k");
    assertThat(again.body()).isEqualTo(first.body());
    assertThat(field(again, "Idempotency-Replayed")).isEqualTo("true");
    assertThat(keys())
        .singleElement()
        .satisfies(
            key ->
                assertThat(new String(value(key), ISO_8859_1))
                    .doesNotContain("4242")
                    .doesNotContain("text/plain"));
  }

  @Test
  void keysRotate() {
    HttpService before = start(KEYS + "a", A, CURRENT, "a");
    HttpService after = start(KEYS + "a", A, KEYS + "b", B, CURRENT, "b");
    HttpResponse<String> old = post(before, "old");
    assertThat(post(after, "old").body()).isEqualTo(old.body());

    assertThat(post(after, "new").statusCode()).isEqualTo(200);
    assertUnavailable(before, "new");
    assertThat(log.messages())
        .containsExactly(
            "An answer cannot be decrypted, so it is not repeated: there is no key 'b': set it under limiter.idempotency.encryption.keys until the answers that it has encrypted have expired");
  }

  @Test
  void anotherKeyOfTheSameNameDecryptsNothing() {
    assertThat(post(start(KEYS + "a", A, CURRENT, "a"), "k").statusCode()).isEqualTo(200);
    assertUnavailable(start(KEYS + "a", B, CURRENT, "a"), "k");
    assertThat(log.messages())
        .singleElement()
        .asString()
        .contains("or its key 'a' has another value here");
  }

  @Test
  void anAnswerThatWasChangedIsNotRepeated() {
    HttpService instance = start(KEYS + "a", A, CURRENT, "a");
    assertThat(post(instance, "k").statusCode()).isEqualTo(200);
    byte[] key = keys().get(0);
    byte[] stored = value(key);
    for (int at = HEAD; at < stored.length; at++) {
      byte[] changed = stored.clone();
      changed[at] ^= 1;
      redis.sync().psetex(key, 60_000, changed);
      assertUnavailable(instance, "k");
    }
    for (int length = HEAD; length < stored.length; length++) {
      redis.sync().psetex(key, 60_000, Arrays.copyOf(stored, length));
      assertUnavailable(instance, "k");
    }
    redis.sync().psetex(key, 60_000, stored);
    assertThat(post(instance, "k").statusCode()).isEqualTo(200);
  }

  /** Both submissions have the same fingerprint. */
  @Test
  void anAnswerOfAnotherSubmissionIsNotRepeated() {
    HttpService instance = start(KEYS + "a", A, CURRENT, "a");
    assertThat(post(instance, "one").statusCode()).isEqualTo(200);
    byte[] one = keys().get(0);
    assertThat(post(instance, "two").statusCode()).isEqualTo(200);
    byte[] two = keys().stream().filter(key -> !Arrays.equals(key, one)).findFirst().get();

    redis.sync().psetex(two, 60_000, value(one));

    assertUnavailable(instance, "two");
    assertThat(post(instance, "one").statusCode()).isEqualTo(200);
  }

  @Test
  void anAnswerInClearIsNotTakenForAnEncryptedOne() {
    HttpService clear = start();
    HttpService encrypting = start(KEYS + "a", A, CURRENT, "a");
    assertThat(post(clear, "clear").statusCode()).isEqualTo(200);
    assertUnavailable(encrypting, "clear");
    assertThat(log.messages())
        .containsExactly(
            "An answer cannot be decrypted, so it is not repeated: it was kept in clear, before limiter.idempotency.encryption.current was set");
    assertThat(post(encrypting, "encrypted").statusCode()).isEqualTo(200);
    assertUnavailable(clear, "encrypted");
  }

  @Test
  void resultsOfCodeAreEncrypted() {
    HttpService one = start(KEYS + "a", A, CURRENT, "a");
    HttpService other = start(KEYS + "b", B, CURRENT, "b");
    Argument<String> text = Argument.STRING;
    for (int i = 0; i < 2; i++) {
      assertThat(
              one.bean(IdempotentCalls.class)
                  .run("cards", "k", text, () -> CompletableFuture.completedFuture("card 4242")))
          .succeedsWithin(Duration.ofSeconds(20))
          .isEqualTo("card 4242");
    }
    assertThat(keys())
        .singleElement()
        .satisfies(key -> assertThat(new String(value(key), ISO_8859_1)).doesNotContain("4242"));
    assertThat(other.bean(IdempotentCalls.class).run("cards", "k", text, CompletableFuture::new))
        .failsWithin(Duration.ofSeconds(20))
        .withThrowableOfType(ExecutionException.class)
        .withCauseInstanceOf(ResultUnavailableException.class);
    assertThat(unreadable(other)).isEqualTo(1);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "current=a | limiter.idempotency.encryption.current = a: there is no such key: set limiter.idempotency.encryption.keys.a",
        "current=c keys.a=A keys.b=A | limiter.idempotency.encryption.current = c: there is no such key: set it to one of a, b",
        "keys.a=A | limiter.idempotency.encryption.current is not set: set it to the key that encrypts, one of a, or remove limiter.idempotency.encryption.keys",
        "current=a keys.a=secret-no-base64 | limiter.idempotency.encryption.keys.a is no key: set it to 16, 24 or 32 random bytes in base64, such as the output of openssl rand -base64 32",
        "current=a keys.a=c2VjcmV0 | limiter.idempotency.encryption.keys.a is no key: set it to 16, 24 or 32 random bytes in base64, such as the output of openssl rand -base64 32",
        "current=a keys.ä=A keys.a=A | limiter.idempotency.encryption.keys.ä: use a name of 32 printable ASCII characters at most",
        "curent=a | limiter.idempotency.encryption.curent: there is no such setting; did you mean limiter.idempotency.encryption.current?",
      })
  void aMistakeStopsTheStart(String settings, String message) {
    Map<String, Object> all = HttpService.settings();
    for (String setting : settings.split(" ")) {
      String[] parts = setting.split("=");
      all.put("limiter.idempotency.encryption." + parts[0], parts[1].equals("A") ? A : parts[1]);
    }
    assertThat(Starts.mistake(all).getMessage()).contains(message).doesNotContain("c2Vj");
  }
}
