// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/** The result of a {@link Step}, as far as stores must agree on it. */
public sealed interface Answer {

  Answer DONE = new Done();

  record Decided(
      Outcome outcome,
      List<RuleVerdict> rules,
      Optional<RuleVerdict> duplicate,
      Optional<Duration> ban,
      Duration delay)
      implements Answer {

    static Decided of(Verdict verdict) {
      return new Decided(
          verdict.outcome(), verdict.rules(), verdict.duplicate(), verdict.ban(), verdict.delay());
    }
  }

  /** The answer to a {@link Step.Lease}; it lasts 0 µs if it was denied. */
  record Leased(Decided decided, long micros) implements Answer {

    static Leased of(LimitStore.Grant grant) {
      Verdict verdict = Objects.requireNonNull(grant.verdict());
      return new Leased(Decided.of(verdict), verdict.allowed() ? grant.micros() : 0);
    }
  }

  record GivenBack(long units) implements Answer {}

  record Done() implements Answer {}

  /** No store fails in a scenario. */
  record Failed(String why) implements Answer {}
}
