// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.cluster.SlotHash;
import io.limiter.core.FailureReason;
import io.limiter.core.Policy;
import io.limiter.core.StoreException;
import io.limiter.core.redis.wire.DecisionScripts;
import io.limiter.core.redis.wire.DecisionScripts.RedisScript;
import io.limiter.core.redis.wire.TakenUnits;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The scripts for units after the decision that took them: one for all units of a call, on a
 * Cluster one for each slot. Never repeated.
 */
final class UnitScripts {

  private static final int STAMP = 8;
  private static final Duration LONGEST = Duration.ofDays(366);

  private final RedisNodes nodes;
  private final DecisionScripts scripts;
  private final RedisSettings settings;

  UnitScripts(RedisNodes nodes, DecisionScripts scripts, RedisSettings settings) {
    this.nodes = nodes;
    this.scripts = scripts;
    this.settings = settings;
  }

  /** Gives units back, within a policy's deadline. Completes with the number of units found. */
  CompletionStage<Long> refund(List<TakenUnits> units, Policy policy) {
    return refund(units, ScriptCall.Time.of(settings.deadline(policy), settings));
  }

  CompletionStage<Long> refund(List<TakenUnits> units, ScriptCall.Time time) {
    return sum(units, some -> settings.name(some.key), some -> refundTogether(some, time));
  }

  private CompletionStage<Long> refundTogether(List<TakenUnits> units, ScriptCall.Time time) {
    return count(
        scripts.refund(),
        keys(units),
        units.stream().map(TakenUnits::refundArgument).toArray(byte[][]::new),
        time,
        false);
  }

  /**
   * Renews concurrency permits. They have their new stamps once the stage has completed; if it
   * fails, those that are known to have been renewed have them.
   *
   * @return the number of units
   */
  CompletionStage<Long> renew(List<TakenUnits> permits, Policy policy) {
    ScriptCall.Time time = ScriptCall.Time.of(settings.deadline(policy), settings);
    return sum(permits, permit -> settings.name(permit.key), some -> renewTogether(some, time));
  }

  private CompletionStage<Long> renewTogether(List<TakenUnits> permits, ScriptCall.Time time) {
    byte[][] keys = keys(permits);
    byte[][] arguments =
        Stream.concat(
                permits.stream().map(TakenUnits::refundArgument),
                permits.stream().map(permit -> permit.stack.ttl()))
            .toArray(byte[][]::new);
    return new ScriptCall<byte[]>(
            nodes, scripts.renew(), ScriptOutputType.VALUE, keys, arguments, time)
        .start()
        .thenApply(stamps -> renewed(permits, stamps, keys[0]));
  }

  private long renewed(List<TakenUnits> permits, byte @Nullable [] stamps, byte[] key) {
    if (stamps == null || stamps.length != STAMP * permits.size()) {
      nodes.renew(key); // the connection is out of step
      throw new StoreException(
          FailureReason.ERROR,
          "Redis replied to a renewal with %s bytes instead of %s"
              .formatted(stamps == null ? "no" : stamps.length, STAMP * permits.size()),
          null);
    }
    long units = 0;
    for (int i = 0; i < permits.size(); i++) {
      permits.get(i).renewed(ByteBuffer.wrap(stamps).getDouble(STAMP * i));
      units += permits.get(i).units;
    }
    return units;
  }

  /**
   * Keeps a submission, past an open breaker, which would outlast a short claim. Completes with 0
   * if it is lost.
   */
  CompletionStage<Long> hold(TakenUnits submission, Duration time, boolean ended) {
    byte[][] key = {settings.name(submission.key)};
    byte[][] arguments = {submission.stamp(), millis(time), {(byte) (ended ? '1' : '0')}};
    return count(scripts.hold(), key, arguments, defaultTime(), true);
  }

  /** A time in milliseconds as text, rounded up and within the range of all times here. */
  private static byte[] millis(Duration time) {
    Duration some = time.compareTo(LONGEST) < 0 ? time : LONGEST;
    long millis = TimeUnit.MILLISECONDS.convert(some.plusNanos(999_999));
    return Long.toString(Math.max(0, millis)).getBytes(StandardCharsets.US_ASCII);
  }

  private byte[][] keys(List<TakenUnits> units) {
    return units.stream().map(some -> settings.name(some.key)).toArray(byte[][]::new);
  }

  /**
   * Runs a script for all items together, or for those of each slot.
   *
   * @param key the Redis key of an item
   */
  <T> CompletionStage<Long> sum(
      List<T> items, Function<T, byte[]> key, Function<List<T>, CompletionStage<Long>> script) {
    return nodes.bySlot
        ? sumBySlot(items, key, script)
        : script
            .apply(items)
            .exceptionallyCompose(
                failure ->
                    RedisNodes.Division.SEVERAL_SLOTS.isCauseOf(failure)
                        ? sumBySlot(items, key, script)
                        : CompletableFuture.failedFuture(failure));
  }

  /** Runs a script that returns a number, within the deadline of all policies. */
  CompletionStage<Long> count(RedisScript script, byte[][] keys, byte[][] arguments) {
    return count(script, keys, arguments, defaultTime(), false);
  }

  private ScriptCall.Time defaultTime() {
    return ScriptCall.Time.of(settings.deadline(), settings);
  }

  private CompletionStage<Long> count(
      RedisScript script,
      byte[][] keys,
      byte[][] arguments,
      ScriptCall.Time time,
      boolean pastBreaker) {
    ScriptCall<Long> call =
        new ScriptCall<>(nodes, script, ScriptOutputType.INTEGER, keys, arguments, time);
    return (pastBreaker ? call.passBreaker() : call)
        .start()
        .thenApply(found -> found == null ? 0L : found);
  }

  /**
   * Runs a script for the items of each slot of a Redis Cluster, in any order. If one of them
   * fails, the others have been sent all the same.
   */
  private static <T> CompletionStage<Long> sumBySlot(
      List<T> items, Function<T, byte[]> key, Function<List<T>, CompletionStage<Long>> script) {
    return sum(
        items.stream()
            .collect(Collectors.groupingBy(item -> SlotHash.getSlot(key.apply(item))))
            .values()
            .stream()
            .map(some -> sumOfSlot(some, script))
            .toList());
  }

  private static <T> CompletionStage<Long> sumOfSlot(
      List<T> some, Function<List<T>, CompletionStage<Long>> script) {
    return script
        .apply(some)
        .exceptionallyCompose(
            failure ->
                some.size() > 1 && RedisNodes.Division.SLOT_MOVING.isCauseOf(failure)
                    ? sum(some.stream().map(one -> script.apply(List.of(one))).toList())
                    : CompletableFuture.failedFuture(failure));
  }

  private static CompletionStage<Long> sum(List<CompletionStage<Long>> addends) {
    return addends.stream()
        .reduce((one, other) -> one.thenCombine(other, Long::sum))
        .orElseGet(() -> CompletableFuture.completedFuture(0L));
  }
}
