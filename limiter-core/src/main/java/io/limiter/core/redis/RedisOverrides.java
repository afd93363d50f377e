// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.lettuce.core.ScriptOutputType;
import io.limiter.core.StateKey;
import io.limiter.core.override.OverrideTable;
import io.limiter.core.redis.wire.DecisionScripts;
import io.limiter.core.redis.wire.DecisionScripts.RedisScript;
import io.limiter.core.util.LogThrottle;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Overrides, or other entries, that all instances share. Each command has the deadline of all
 * policies.
 */
final class RedisOverrides<E extends OverrideTable.Entry<E>> implements OverrideTable<E> {

  private static final Logger LOG = LoggerFactory.getLogger(RedisOverrides.class);
  private static final int FIELDS = 3; // of one entry: tag, text, remaining milliseconds

  private static final int MAX_QUOTED = 100;

  /** Longer times are possible only if the entry was written by other means. */
  private static final long MAX_MILLIS = Duration.ofDays(366).toMillis();

  private static final RedisScript SCRIPT = DecisionScripts.read("overrides.lua");

  private final RedisNodes nodes;
  private final RedisSettings settings;
  private final String name;
  private final String entries;
  private final Reader<E> reader;
  private final LogThrottle misread = new LogThrottle();

  /**
   * @param name of the hash, after the key prefix
   * @param entries what they are, for messages
   */
  RedisOverrides(
      RedisNodes nodes, RedisSettings settings, String name, String entries, Reader<E> reader) {
    this.nodes = nodes;
    this.settings = settings;
    this.name = name;
    this.entries = entries;
    this.reader = reader;
  }

  @Override
  public String tag(StateKey key) {
    return settings.keySecret().isPresent() ? settings.keySecret().get().tag(key) : key.tag();
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
    byte[] key = (settings.prefix() + name).getBytes(StandardCharsets.US_ASCII);
    byte[][] values = new byte[arguments.length][];
    for (int i = 0; i < values.length; i++) {
      values[i] = arguments[i].getBytes(StandardCharsets.UTF_8);
    }
    return new ScriptCall<List<byte[]>>(
            nodes,
            SCRIPT,
            ScriptOutputType.MULTI,
            new byte[][] {key},
            values,
            ScriptCall.Time.of(settings.deadline(), settings))
        .start()
        .thenApply(this::read);
  }

  private List<E> read(@Nullable List<byte[]> found) {
    RedisStore.requireDone(found);
    List<E> read = new ArrayList<>();
    for (int i = 0; found != null && i + FIELDS <= found.size(); i += FIELDS) {
      String tag = new String(found.get(i), StandardCharsets.UTF_8);
      String text = new String(found.get(i + 1), StandardCharsets.UTF_8);
      long left = Long.parseLong(new String(found.get(i + 2), StandardCharsets.US_ASCII));
      Optional<E> entry =
          left <= 0
              ? Optional.empty()
              : reader.read(tag, text, Duration.ofMillis(Math.min(left, MAX_MILLIS)));
      entry.ifPresentOrElse(read::add, () -> report(tag));
    }
    return List.copyOf(read);
  }

  private void report(String tag) {
    long times = misread.count();
    if (times > 0) {
      LOG.warn(
          "The field '{}' of the hash {}{} cannot be read, so it has no effect: remove it. Occurrences since the last message: {}",
          LogThrottle.oneLine(tag, MAX_QUOTED),
          settings.prefix(),
          name,
          times);
    }
  }
}
