// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.util;

import java.util.Collection;
import java.util.Comparator;
import java.util.List;

/** Finds the names that a misspelled one may stand for. */
public final class NearestNames {

  /** The most changes in a misspelling of a name; a quarter of its letters if that is more. */
  public static final int MOST_CHANGES = 3;

  private NearestNames() {}

  /** Returns the names that differ from this one in a few letters, or contain it, nearest first. */
  public static List<String> of(Collection<String> names, String name) {
    int most = Math.max(MOST_CHANGES, name.length() / 4);
    return names.stream()
        .filter(known -> changes(known, name) <= most || (!name.isEmpty() && known.contains(name)))
        .sorted(
            Comparator.comparingInt((String known) -> changes(known, name))
                .thenComparing(Comparator.naturalOrder()))
        .toList();
  }

  /** Number of letters to insert, remove or replace: the Levenshtein distance. */
  public static int changes(String from, String to) {
    int[] row = new int[to.length() + 1];
    for (int j = 0; j < row.length; j++) {
      row[j] = j;
    }
    for (int i = 1; i <= from.length(); i++) {
      int diagonal = row[0];
      row[0] = i;
      for (int j = 1; j < row.length; j++) {
        int replaced = diagonal + (from.charAt(i - 1) == to.charAt(j - 1) ? 0 : 1);
        diagonal = row[j];
        row[j] = Math.min(replaced, Math.min(diagonal, row[j - 1]) + 1);
      }
    }
    return row[to.length()];
  }
}
