// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.lettuce.core.ScriptOutputType;
import io.limiter.core.FailureReason;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.redis.wire.DecisionScripts.RedisScript;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/**
 * Runs other scripts over the connections of a {@link RedisStore}: with its deadline of all
 * policies, its breaker, its names of keys, and its redirects in a Cluster. Thread-safe.
 */
public final class RedisScripts {

  private final RedisNodes nodes;
  private final RedisSettings settings;

  RedisScripts(RedisNodes nodes, RedisSettings settings) {
    this.nodes = nodes;
    this.settings = settings;
  }

  /** A script beside a class. */
  public static final class Script {

    private final RedisScript script;

    private Script(RedisScript script) {
      this.script = script;
    }

    /**
     * Reads a file beside a class.
     *
     * @throws IllegalStateException if it is not there
     */
    public static Script load(Class<?> near, String file) {
      try (InputStream source = near.getResourceAsStream(file)) {
        if (source == null) {
          throw new IllegalStateException("The script " + file + " is missing from the class path");
        }
        return new Script(
            RedisScript.of(new String(source.readAllBytes(), StandardCharsets.UTF_8)));
      } catch (IOException e) {
        throw new UncheckedIOException("The script " + file + " cannot be read", e);
      }
    }
  }

  /** The name of a key in Redis: with the prefix, and hidden by the key secret if there is one. */
  public byte[] name(StateKey key) {
    return settings.name(key);
  }

  /** The name of a key of no subject: with the prefix. */
  public byte[] name(String suffix) {
    return (settings.prefix() + suffix).getBytes(StandardCharsets.US_ASCII);
  }

  /** The {@link StateKey#tag} in the names of keys: hidden by the key secret if there is one. */
  public String tag(StateKey key) {
    return settings.keySecret().map(secret -> secret.tag(key)).orElseGet(key::tag);
  }

  /**
   * Runs a script once. Fails with a {@link StoreException} if there is no reply; then it is
   * unknown whether the script ran, unless the {@linkplain FailureReason reason} excludes that.
   *
   * @param keys one or more; in a Cluster those of one slot, so of one {@link StateKey#tag}
   * @param read reads the reply, a string; empty if Redis sent none. If it throws, the connection
   *     is out of step, and is replaced
   */
  public <T> CompletionStage<T> run(
      Script script, byte[][] keys, byte[][] arguments, Function<byte[], T> read) {
    return run(script, keys, arguments, read, false);
  }

  /**
   * Like {@link #run}, but sends the script also while the breaker is open: for calls that are few,
   * wait between attempts, and must not be late, such as those that extend a time to live.
   */
  public <T> CompletionStage<T> runPastBreaker(
      Script script, byte[][] keys, byte[][] arguments, Function<byte[], T> read) {
    return run(script, keys, arguments, read, true);
  }

  // No type of Lettuce, nor one that has it, is in the signature: it is absent where others
  // compile.
  private <T> CompletionStage<T> run(
      Script script,
      byte[][] keys,
      byte[][] arguments,
      Function<byte[], T> read,
      boolean pastBreaker) {
    ScriptCall<byte[]> call =
        new ScriptCall<>(
            nodes,
            script.script,
            ScriptOutputType.VALUE,
            keys,
            arguments,
            ScriptCall.Time.of(settings.deadline(), settings));
    return (pastBreaker ? call.passBreaker() : call)
        .start()
        .thenApply(
            reply -> {
              try {
                return read.apply(reply == null ? new byte[0] : reply);
              } catch (RuntimeException strange) {
                nodes.renew(keys[0]);
                throw new StoreException(
                    FailureReason.ERROR, "Redis sent an unreadable reply to a script", strange);
              }
            });
  }
}
