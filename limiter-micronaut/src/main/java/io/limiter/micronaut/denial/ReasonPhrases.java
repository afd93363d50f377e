// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.micronaut.http.HttpStatus;
import java.util.HashMap;
import java.util.Map;

/** The standard reason phrases of statuses. */
final class ReasonPhrases {

  private static final Map<Integer, HttpStatus> KNOWN = new HashMap<>();

  static {
    for (HttpStatus status : HttpStatus.values()) {
      KNOWN.putIfAbsent(status.getCode(), status);
    }
  }

  private ReasonPhrases() {}

  /** Whether Micronaut knows the status. */
  static boolean known(int status) {
    return KNOWN.containsKey(status);
  }

  static String of(int status) {
    HttpStatus known = KNOWN.get(status);
    return known == null ? "Denied" : known.getReason();
  }
}
