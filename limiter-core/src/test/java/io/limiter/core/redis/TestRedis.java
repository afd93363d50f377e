// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static java.util.concurrent.TimeUnit.MICROSECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScanArgs;
import io.lettuce.core.ScanIterator;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.api.sync.RedisKeyCommands;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import io.limiter.core.FadingCounter;
import io.limiter.core.StateKey;
import io.limiter.core.redis.wire.DecisionScripts;
import io.limiter.core.redis.wire.DecisionScripts.RedisScript;
import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.testing.RedisFixture;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.LongSupplier;
import java.util.stream.Stream;

/**
 * A Redis store whose clock the test sets: its copy of the script reads a key instead of the time.
 * Clock and decisions use one connection, so that each decision sees the clock it was given,
 * without waiting.
 */
public final class TestRedis implements AutoCloseable {

  /** Added to the life of every key, which is real, whatever the test does with its clock. */
  public static final long EXTRA_LIFE_MILLIS = 1_000_000_000L;

  private static final String LIFE = "'PX', ttl)";
  private static final String LONGER = "call('PEXPIRE', key, ttl)";

  /** Digits of the seconds, and of the microseconds, of the clock. */
  private static final int HALF = 18;

  private final RedisClient client;
  private final StatefulRedisConnection<byte[], byte[]> connection;
  private final String prefix;
  private volatile long clock;
  private final byte[] clockKey;

  public TestRedis() {
    this(
        RedisURI.create(RedisFixture.uri()),
        "test-" + UUID.randomUUID().toString().substring(0, 8) + ":");
  }

  /**
   * @param uri may name a user who may run only the commands of the limiter
   * @param prefix of all keys, also the clock's
   */
  public TestRedis(RedisURI uri, String prefix) {
    this.client = RedisClient.create(uri);
    this.connection = client.connect(ByteArrayCodec.INSTANCE);
    this.prefix = prefix;
    this.clockKey = bytes(prefix + "clock");
  }

  /** A store with the keys of this test, whose values never expire. */
  public RedisStore store() {
    return store(List.of(new FadingCounter()));
  }

  /**
   * A store with a mistake in its script.
   *
   * @param line a part of the script without comments
   */
  RedisStore mistakenStore(String line, String replacement) {
    DecisionScripts scripts = DecisionScripts.load();
    return store(scripts, RedisScript.of(replace(scripts.decide().text(), line, replacement)));
  }

  /** A store with these custom algorithms. */
  public RedisStore store(List<CustomAlgorithm> algorithms) {
    DecisionScripts scripts = DecisionScripts.load(algorithms);
    return store(scripts, scripts.decide());
  }

  /**
   * A store with the keys and the clock of this test over other connections, on which decisions may
   * share a command. A clock applies once {@link #commands} has answered after it was set.
   */
  RedisStore storeOver(ConnectionSource connections, int batchSize) {
    DecisionScripts scripts = DecisionScripts.load(List.of(new FadingCounter()));
    return new RedisStore(
        connections,
        settings().withBatchSize(batchSize),
        new DecisionScripts(
            RedisScript.of(decide(scripts.decide())),
            scripts.batch().map(batch -> RedisScript.of(decide(batch))),
            scripts.hold(),
            RedisScript.of(clocked(scripts.refund())),
            RedisScript.of(decide(scripts.renew())),
            scripts.algorithms()),
        new NodeBreakers(),
        () -> clock);
  }

  /**
   * A store in a process whose clock differs from that of Redis.
   *
   * @param ahead by how much it is ahead
   */
  RedisStore storeOfProcess(Duration ahead) {
    DecisionScripts scripts = DecisionScripts.load();
    return store(scripts, scripts.decide(), () -> clock + MICROSECONDS.convert(ahead));
  }

  private RedisStore store(DecisionScripts scripts, RedisScript deciding) {
    return store(scripts, deciding, () -> clock);
  }

  private RedisStore store(DecisionScripts scripts, RedisScript deciding, LongSupplier wallMicros) {
    String decide = decide(deciding);
    String refund = clocked(scripts.refund());
    String renew = decide(scripts.renew());
    RedisStore store =
        new RedisStore(
            source(),
            settings(),
            new DecisionScripts(
                RedisScript.of(decide),
                Optional.empty(),
                scripts.hold(),
                RedisScript.of(refund),
                RedisScript.of(renew),
                scripts.algorithms()),
            new NodeBreakers(),
            wallMicros);
    // Scripts that are loaded are not sent a second time, which would be out of order.
    commands().scriptLoad(bytes(decide));
    commands().scriptLoad(bytes(refund));
    commands().scriptLoad(bytes(renew));
    store.reset(List.of(new StateKey("none", "none"))).toCompletableFuture().join();
    return store;
  }

  /** The scripts with some changed ones, which decide each call alone. */
  static DecisionScripts scripts(
      DecisionScripts others, RedisScript decide, RedisScript refund, RedisScript renew) {
    return new DecisionScripts(
        decide, Optional.empty(), others.hold(), refund, renew, others.algorithms());
  }

  private String decide(RedisScript script) {
    String longer = "ttl + %s)".formatted(EXTRA_LIFE_MILLIS);
    String decide = replace(clocked(script), LIFE, "'PX', " + longer);
    decide = replace(decide, LONGER, "call('PEXPIRE', key, " + longer);
    return replace(decide, "'PX', banTtl)", "'PX', banTtl + %s)".formatted(EXTRA_LIFE_MILLIS));
  }

  RedisSettings settings() {
    return new RedisSettings(prefix, Duration.ofSeconds(10));
  }

  /** The connection that the clock is set over. */
  StatefulRedisConnection<byte[], byte[]> connection() {
    return connection;
  }

  private String clocked(RedisScript script) {
    // Uses only commands of the limiter: the user may have no other rights.
    String half = "call('GETRANGE', '%sclock', '%s', '%s')";
    return replace(
        script.text(),
        "call('TIME')",
        "{ call('TIME') and %s, %s }"
            .formatted(half.formatted(prefix, 0, HALF - 1), half.formatted(prefix, HALF, -1)));
  }

  private static String replace(String script, String line, String replacement) {
    assertThat(script).as("the script").contains(line);
    return script.replace(line, replacement);
  }

  public ConnectionSource source() {
    return new ConnectionSource() {
      @Override
      public RedisClusterAsyncCommands<byte[], byte[]> commands() {
        return connection.async();
      }

      @Override
      public void close() {}
    };
  }

  /** Sets the clock for all that is sent from now on. */
  public void setClock(long microseconds) {
    clock = microseconds;
    connection
        .async()
        .set(
            clockKey,
            bytes(
                String.format(
                    Locale.ROOT,
                    "%0" + HALF + "d%0" + HALF + "d",
                    microseconds / 1_000_000,
                    microseconds % 1_000_000)));
  }

  public long clock() {
    return clock;
  }

  public byte[] name(StateKey key) {
    return bytes(prefix + '{' + key.tag() + "}:" + key.name());
  }

  public RedisCommands<byte[], byte[]> commands() {
    return connection.sync();
  }

  /** Removes keys as if Redis had evicted them, in order with what a store asks. */
  CompletionStage<Long> lose(List<StateKey> keys) {
    return keys.isEmpty()
        ? CompletableFuture.completedFuture(0L)
        : connection
            .async()
            .del(
                keys.stream()
                    .flatMap(key -> Stream.of(key, key.ban()))
                    .map(this::name)
                    .toArray(byte[][]::new));
  }

  /** Removes all keys of this test, and no others. */
  public void forgetAll() {
    List<byte[]> keys = keys(commands(), prefix + "*");
    if (!keys.isEmpty()) {
      commands().del(keys.toArray(byte[][]::new));
    }
  }

  /** The method {@code keys} of Lettuce 6 is another one in Lettuce 7. */
  public static <K, V> List<K> keys(RedisKeyCommands<K, V> commands, String pattern) {
    return ScanIterator.scan(commands, ScanArgs.Builder.matches(pattern).limit(1_000)).stream()
        .toList();
  }

  public static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }

  @Override
  public void close() {
    forgetAll();
    shutdown();
  }

  /** Closes the connection of a user who may not list keys. */
  public void shutdown() {
    client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
  }
}
