// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.lettuce.core.KeyScanCursor;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScanArgs;
import io.lettuce.core.ScanCursor;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The Redis of a run: one that is given, or one of its own. In a given one only keys under the
 * run's prefix are used, and deleted at the end.
 */
public final class BenchRedis implements AutoCloseable {

  private static final int SCAN = 1_000;
  private static final Pattern VERSION = Pattern.compile("(redis|valkey)_version:(\\S+)");

  private final String uri;
  private final String prefix;
  private final Optional<EmbeddedServer> own;
  private final RedisClient client;
  private final StatefulRedisConnection<byte[], byte[]> connection;

  private BenchRedis(String uri, Optional<EmbeddedServer> own) {
    this.uri = uri;
    this.own = own;
    this.prefix = "bench:%06x:".formatted(ThreadLocalRandom.current().nextInt(1 << 24));
    this.client = RedisClient.create(uri);
    this.connection = client.connect(ByteArrayCodec.INSTANCE);
  }

  /**
   * The one that the options or REDIS_URI give, otherwise one of its own; the report names it.
   *
   * @throws IOException if its own cannot run here
   */
  public static BenchRedis open(Options options, Report report)
      throws IOException, InterruptedException {
    Optional<String> given = options.redis();
    Optional<EmbeddedServer> own =
        given.isPresent() ? Optional.empty() : Optional.of(EmbeddedServer.start());
    BenchRedis redis =
        new BenchRedis(given.or(() -> own.map(EmbeddedServer::uri)).orElseThrow(), own);
    // Through RedisURI, which hides a password.
    String where =
        given.map(uri -> "given, at " + RedisURI.create(uri)).orElse("its own, embedded");
    report.about("server", redis.product() + ", " + where);
    return redis;
  }

  /** Where it listens, with its password. */
  public String uri() {
    return uri;
  }

  /** The prefix of all keys of this run: up to 32 letters, digits and colons. */
  public String prefix() {
    return prefix;
  }

  /** For readings between measurements; blocking. */
  public RedisCommands<byte[], byte[]> commands() {
    return connection.sync();
  }

  private String product() {
    try {
      return product(commands().info("server"));
    } catch (RedisCommandExecutionException refused) {
      return product("");
    }
  }

  /**
   * The name and the version of a server. Valkey has a version of its own beside that of the Redis
   * that it is compatible with.
   */
  static String product(String info) {
    Map<String, String> versions =
        VERSION
            .matcher(info)
            .results()
            .collect(Collectors.toMap(found -> found.group(1), found -> found.group(2)));
    String valkey = versions.get("valkey");
    return valkey == null
        ? "Redis " + versions.getOrDefault("redis", "of unknown version")
        : "Valkey " + valkey;
  }

  /** Deletes what this run has counted. */
  public void deleteKeys() {
    eachPage(
        keys -> {
          try {
            commands().del(keys.toArray(byte[][]::new));
          } catch (RedisCommandExecutionException ofSeveralSlots) {
            keys.forEach(key -> commands().del(key));
          }
        });
  }

  /** The names of all keys of this run. */
  public List<byte[]> keys() {
    List<byte[]> all = new ArrayList<>();
    eachPage(all::addAll);
    return all;
  }

  /** Peers put names of their own around the prefix. */
  private void eachPage(Consumer<List<byte[]>> action) {
    ScanArgs ours = ScanArgs.Builder.matches("*" + prefix + "*").limit(SCAN);
    ScanCursor cursor = ScanCursor.INITIAL;
    while (!cursor.isFinished()) {
      KeyScanCursor<byte[]> found = commands().scan(cursor, ours);
      if (!found.getKeys().isEmpty()) {
        action.accept(found.getKeys());
      }
      cursor = found;
    }
  }

  /** The name of a key of this run. */
  public byte[] key(String name) {
    return (prefix + name).getBytes(US_ASCII);
  }

  @Override
  public void close() {
    if (own.isEmpty()) {
      try {
        deleteKeys();
      } catch (RedisCommandExecutionException refused) {
        System.err.println("Keys with " + prefix + " may be left: " + refused.getMessage());
      }
    }
    connection.close();
    client.shutdown();
    own.ifPresent(EmbeddedServer::close);
  }
}
