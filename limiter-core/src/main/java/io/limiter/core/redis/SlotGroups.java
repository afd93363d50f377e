// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.lettuce.core.cluster.SlotHash;
import io.limiter.core.Charge;
import io.limiter.core.redis.wire.EncodedCall;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * Divides a call whose keys are in several slots of a Redis Cluster. The parts are in the order in
 * which they are taken from. The narrowest subject comes first, so that units taken for a call that
 * is denied in the end, and then given back, belong only to its own caller. A part that makes the
 * call wait comes last, since a departure that is given up may pass unused.
 */
final class SlotGroups {

  private SlotGroups() {}

  /** One part for each slot, each with the indexes of its charges. */
  static List<int[]> bySlot(EncodedCall call) {
    if (call.size() == 1) {
      return List.of(new int[] {0});
    }
    Map<Integer, List<Integer>> bySlot = new LinkedHashMap<>();
    for (int i = 0; i < call.size(); i++) {
      int slot = SlotHash.getSlot(call.key(i));
      bySlot.computeIfAbsent(slot, first -> new ArrayList<>()).add(i);
    }
    return bySlot.size() == 1
        ? List.of(IntStream.range(0, call.size()).toArray())
        : narrowestFirst(
            call,
            bySlot.values().stream()
                .map(indexes -> indexes.stream().mapToInt(Integer::intValue).toArray())
                .toList());
  }

  /** One part for each charge of a part. */
  static List<int[]> oneByOne(EncodedCall call, int[] part) {
    return narrowestFirst(call, Arrays.stream(part).mapToObj(index -> new int[] {index}).toList());
  }

  /** Otherwise in the order of declaration: the sort is stable. */
  private static List<int[]> narrowestFirst(EncodedCall call, List<int[]> parts) {
    return parts.stream()
        .sorted(
            Comparator.<int[], Boolean>comparing(part -> waits(call, part))
                .thenComparingInt(part -> breadth(call, part)))
        .toList();
  }

  private static boolean waits(EncodedCall call, int[] part) {
    return Arrays.stream(part)
        .mapToObj(call::charge)
        .anyMatch(charge -> charge.stack().waiting().isPresent());
  }

  private static int breadth(EncodedCall call, int[] part) {
    return Arrays.stream(part)
        .mapToObj(call::charge)
        .map(Charge::key)
        .mapToInt(key -> key.breadth())
        .max()
        .orElse(0);
  }
}
