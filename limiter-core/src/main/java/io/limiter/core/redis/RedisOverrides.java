// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.lettuce.core.ScriptOutputType;
import io.limiter.core.StateKey;
import io.limiter.core.override.OverrideTable;
import io.limiter.core.override.SubjectOverride;
import io.limiter.core.redis.wire.DecisionScripts;
import io.limiter.core.redis.wire.DecisionScripts.RedisScript;
import io.limiter.core.util.LogThrottle;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Overrides that all instances share. Each command has the deadline of all policies. */
final class RedisOverrides implements OverrideTable {

  /** The name of the hash, after the key prefix. */
  static final String NAME = "overrides";

  private static final Logger LOG = LoggerFactory.getLogger(RedisOverrides.class);
  private static final int FIELDS = 3; // of one override: tag, text, remaining milliseconds

  private static final RedisScript SCRIPT = DecisionScripts.read("overrides.lua");

  private final RedisNodes nodes;
  private final RedisSettings settings;
  private final LogThrottle misread = new LogThrottle();

  RedisOverrides(RedisNodes nodes, RedisSettings settings) {
    this.nodes = nodes;
    this.settings = settings;
  }

  @Override
  public String tag(StateKey key) {
    return settings.keySecret().isPresent() ? settings.keySecret().get().tag(key) : key.tag();
  }

  @Override
  public CompletionStage<List<SubjectOverride>> all() {
    return run();
  }

  @Override
  public CompletionStage<List<SubjectOverride>> put(SubjectOverride override) {
    return run(override.tag(), Long.toString(override.left().toMillis()), override.text());
  }

  @Override
  public CompletionStage<List<SubjectOverride>> remove(String tag) {
    return run(tag);
  }

  private CompletionStage<List<SubjectOverride>> run(String... arguments) {
    byte[] key = (settings.prefix() + NAME).getBytes(StandardCharsets.US_ASCII);
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

  private List<SubjectOverride> read(@Nullable List<byte[]> found) {
    RedisStore.requireDone(found);
    List<SubjectOverride> overrides = new ArrayList<>();
    for (int i = 0; found != null && i + FIELDS <= found.size(); i += FIELDS) {
      String tag = new String(found.get(i), StandardCharsets.UTF_8);
      String text = new String(found.get(i + 1), StandardCharsets.UTF_8);
      String left = new String(found.get(i + 2), StandardCharsets.US_ASCII);
      SubjectOverride.of(tag, text, Duration.ofMillis(Long.parseLong(left)))
          .ifPresentOrElse(overrides::add, () -> report(tag));
    }
    return List.copyOf(overrides);
  }

  private void report(String tag) {
    long times = misread.count();
    if (times > 0) {
      LOG.warn(
          "The override of {} in the hash {}{} cannot be read, so the usual limits hold: remove it. Occurrences since the last message: {}",
          tag,
          settings.prefix(),
          NAME,
          times);
    }
  }
}
