// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.faults;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Checks a finished run without relying on reported decision times. A decision was taken between
 * the time its call was sent and the time it was answered. So all calls that were sent and answered
 * within one window were decided within it, and the rule bounds how many of them may have been
 * admitted. This never accuses a correct limiter, whatever the delays.
 */
public final class OverAdmissionChecker {

  /** One admitted call; times in ns of one clock. */
  public record Admission(String key, long sent, long answered, String nonce) {}

  private final long count;

  /** Less a thousandth: the clocks of the caller and of Redis may drift, NTP slews by 0.05 %. */
  private final long windowNanos;

  /**
   * @param count the most calls of one key that any window may hold: the rule's count, plus what
   *     the fault of the run excuses
   */
  public OverAdmissionChecker(long count, Duration window) {
    this.count = count;
    this.windowNanos = window.toNanos() - window.toNanos() / 1_000;
  }

  /** A description of each violation; empty if there is none. */
  public List<String> violations(Collection<Admission> admissions) {
    List<String> found = new ArrayList<>();
    Map<String, List<Admission>> byKey =
        admissions.stream()
            .collect(Collectors.groupingBy(Admission::key, TreeMap::new, Collectors.toList()));
    byKey.forEach(
        (key, ofKey) -> {
          long most = most(ofKey);
          if (most > count) {
            found.add("%s calls of %s admitted in one window of %s".formatted(most, key, count));
          }
        });
    found.addAll(repeated(admissions.stream().map(Admission::nonce).toList()));
    return found;
  }

  /** The nonces that occur more than once. */
  static List<String> repeated(Collection<String> nonces) {
    Set<String> seen = new HashSet<>();
    return nonces.stream()
        .filter(nonce -> !seen.add(nonce))
        .map("%s counted twice"::formatted)
        .toList();
  }

  /**
   * The most calls that began after some call began, and ended within a window from then. From the
   * latest begin to the earliest; a tree counts the ends.
   */
  private long most(List<Admission> admissions) {
    long[] ends = admissions.stream().mapToLong(Admission::answered).sorted().toArray();
    int[] tree = new int[ends.length + 1];
    long most = 0;
    List<Admission> latestFirst =
        admissions.stream().sorted(Comparator.comparingLong(Admission::sent).reversed()).toList();
    for (Admission admission : latestFirst) {
      for (int i = place(ends, admission.answered()); i < tree.length; i += i & -i) {
        tree[i]++;
      }
      long within = 0;
      for (int i = place(ends, admission.sent() + windowNanos - 1); i > 0; i -= i & -i) {
        within += tree[i];
      }
      most = Math.max(most, within);
    }
    return most;
  }

  /** How many ends are not later than this. */
  private static int place(long[] ends, long time) {
    int at = Arrays.binarySearch(ends, time);
    if (at < 0) {
      return -at - 1;
    }
    while (at + 1 < ends.length && ends[at + 1] == time) {
      at++;
    }
    return at + 1;
  }
}
