// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.micronaut.http.HttpStatus;
import java.util.Arrays;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/** The standard's words for statuses. */
final class Reasons {

  private static final Map<Integer, HttpStatus> KNOWN =
      Arrays.stream(HttpStatus.values())
          .collect(
              Collectors.toUnmodifiableMap(
                  HttpStatus::getCode, Function.identity(), (one, same) -> one));

  private Reasons() {}

  /** Whether Micronaut has a name for it. */
  static boolean known(int status) {
    return KNOWN.containsKey(status);
  }

  static String of(int status) {
    HttpStatus known = KNOWN.get(status);
    return known == null ? "Refused" : known.getReason();
  }
}
