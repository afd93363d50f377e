// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.lettuce.core.cluster.SlotHash;
import io.limiter.core.redis.cluster.SlotMoving;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * Operations that may run key by key in any order, such as refunds, grouped into one script for
 * each slot of a Redis Cluster. If one of them fails, the others have been sent all the same.
 */
final class PerSlotCalls {

  private PerSlotCalls() {}

  /**
   * @param key the Redis key of an item
   * @param script runs a script for items whose keys are in one slot
   * @return the sum of the scripts' results
   */
  static <T> CompletionStage<Long> sum(
      Collection<T> things,
      Function<T, byte[]> key,
      Function<List<T>, CompletionStage<Long>> script) {
    return sum(
        things.stream()
            .collect(Collectors.groupingBy(thing -> SlotHash.getSlot(key.apply(thing))))
            .values()
            .stream()
            .map(some -> together(some, script))
            .toList());
  }

  private static <T> CompletionStage<Long> together(
      List<T> some, Function<List<T>, CompletionStage<Long>> script) {
    return script
        .apply(some)
        .exceptionallyCompose(
            failure ->
                some.size() > 1 && SlotMoving.is(failure)
                    ? sum(some.stream().map(one -> script.apply(List.of(one))).toList())
                    : CompletableFuture.failedFuture(failure));
  }

  private static CompletionStage<Long> sum(List<CompletionStage<Long>> addends) {
    return addends.stream()
        .reduce((one, other) -> one.thenCombine(other, Long::sum))
        .orElseGet(() -> CompletableFuture.completedFuture(0L));
  }
}
