// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** Reads lists of statuses that count as failures. */
final class StatusList {

  private StatusList() {}

  /**
   * The statuses of a member, 400 to 599.
   *
   * @param ifEmpty the remedy for an empty list
   */
  static Set<Integer> read(AnnotationMembers limiter, String member, String ifEmpty) {
    int[] statuses = limiter.annotation().intValues(member);
    if (statuses.length == 0) {
      throw limiter.error(member, "{}", ifEmpty);
    }
    for (int status : statuses) {
      if (status < 400 || status > 599) {
        throw limiter.error(member, status, "give it error statuses, 400 to 599");
      }
    }
    return Arrays.stream(statuses).boxed().collect(Collectors.toCollection(TreeSet::new));
  }
}
