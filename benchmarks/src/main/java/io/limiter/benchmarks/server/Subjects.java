// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.server;

import io.limiter.micronaut.annotation.SubjectResolver;
import io.micronaut.http.HttpRequest;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

/**
 * Callers that take turns, so that none of them comes near a limit however fast the generator is:
 * at 100,000 calls a second each has 600 in a minute.
 */
@Singleton
final class Subjects implements SubjectResolver {

  static final int COUNT = 10_000;

  /** Created in advance: this is not part of the measurement. */
  private final List<Optional<String>> names =
      IntStream.range(0, COUNT).mapToObj(i -> Optional.of("subject-" + i)).toList();

  private final AtomicInteger calls = new AtomicInteger();

  @Override
  public Optional<String> resolve(HttpRequest<?> request) {
    return next();
  }

  Optional<String> next() {
    return names.get(Math.floorMod(calls.getAndIncrement(), COUNT));
  }
}
