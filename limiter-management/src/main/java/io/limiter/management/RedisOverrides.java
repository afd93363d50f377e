// SPDX-License-Identifier: Apache-2.0
package io.limiter.management;

import io.limiter.core.StateKey;
import io.limiter.core.redis.RedisScripts;
import io.limiter.core.redis.RedisScripts.Script;
import io.limiter.core.util.LogThrottle;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Overrides, or other entries, that all instances share. Each command has the deadline of all
 * policies.
 */
final class RedisOverrides<E extends OverrideTable.Entry<E>> implements OverrideTable<E> {

  private static final Logger LOG = LoggerFactory.getLogger(RedisOverrides.class);
  private static final int MAX_QUOTED = 100;

  /** Longer times are possible only if the entry was written by other means. */
  private static final long MAX_MILLIS = Duration.ofDays(366).toMillis();

  private static final Script SCRIPT = Script.load(RedisOverrides.class, "overrides.lua");

  private final RedisScripts redis;
  private final byte[] hash;
  private final String entries;
  private final Reader<E> reader;
  private final LogThrottle misread = new LogThrottle();

  /**
   * @param name of the hash, after the key prefix
   * @param entries what they are, for messages
   */
  RedisOverrides(RedisScripts redis, String name, String entries, Reader<E> reader) {
    this.redis = redis;
    this.hash = redis.name(name);
    this.entries = entries;
    this.reader = reader;
  }

  @Override
  public String tag(StateKey key) {
    return redis.tag(key);
  }

  @Override
  public CompletionStage<List<E>> all() {
    return run();
  }

  @Override
  public CompletionStage<List<E>> put(E entry) {
    return run(entry.tag(), Long.toString(entry.left().toMillis()), entry.text(), entries);
  }

  @Override
  public CompletionStage<List<E>> remove(String tag) {
    return run(tag);
  }

  private CompletionStage<List<E>> run(String... arguments) {
    byte[][] values = new byte[arguments.length][];
    for (int i = 0; i < values.length; i++) {
      values[i] = arguments[i].getBytes(StandardCharsets.UTF_8);
    }
    return redis
        .run(SCRIPT, new byte[][] {hash}, values, this::read)
        .thenCompose(
            reply ->
                reply.refusal.isEmpty()
                    ? CompletableFuture.completedFuture(reply.entries)
                    : CompletableFuture.failedFuture(new IllegalStateException(reply.refusal)));
  }

  /**
   * What the script has returned.
   *
   * @param refusal why nothing was done; empty if it was
   */
  private record Reply<E>(List<E> entries, String refusal) {}

  private Reply<E> read(byte[] bytes) {
    ByteBuffer reply = ByteBuffer.wrap(bytes);
    byte kind = reply.get();
    if (kind == '!') {
      return new Reply<>(List.of(), text(reply, reply.remaining()));
    }
    if (kind != '=') {
      throw new IllegalArgumentException("A reply that begins with " + kind);
    }
    List<E> read = new ArrayList<>();
    while (reply.hasRemaining()) {
      int tagLength = reply.getInt();
      int textLength = reply.getInt();
      long left = (long) reply.getDouble();
      String tag = text(reply, tagLength);
      String text = text(reply, textLength);
      Optional<E> entry =
          left <= 0
              ? Optional.empty()
              : reader.read(tag, text, Duration.ofMillis(Math.min(left, MAX_MILLIS)));
      entry.ifPresentOrElse(read::add, () -> report(tag));
    }
    return new Reply<>(List.copyOf(read), "");
  }

  private static String text(ByteBuffer reply, int length) {
    int begin = reply.position();
    reply.position(begin + length);
    return StandardCharsets.UTF_8.decode(reply.slice(begin, length)).toString();
  }

  private void report(String tag) {
    long times = misread.count();
    if (times > 0) {
      LOG.warn(
          "The field '{}' of the hash {} cannot be read, so it has no effect: remove it. Occurrences since the last message: {}",
          LogThrottle.oneLine(tag, MAX_QUOTED),
          new String(hash, StandardCharsets.US_ASCII),
          times);
    }
  }
}
