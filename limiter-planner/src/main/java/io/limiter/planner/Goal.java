// SPDX-License-Identifier: Apache-2.0
package io.limiter.planner;

import java.util.List;
import java.util.Optional;

/**
 * How much a proposed rule may deny. The subject that is {@linkplain AccessLog#apart named apart}
 * counts in neither.
 *
 * @param callShare the share of calls, 0 to 1; empty if subjects count
 * @param subjects the number of subjects; empty if calls count
 * @param algorithms the algorithms, by their names in {@link RuleText}
 */
public record Goal(Optional<Double> callShare, Optional<Long> subjects, List<String> algorithms) {

  /** The algorithms of a goal by default. */
  public static final List<String> ALGORITHMS =
      List.of("sliding-window-log", "sliding-window-counter", "fixed-window", "token-bucket");

  public Goal {
    algorithms = List.copyOf(algorithms);
    if (callShare.isPresent() == subjects.isPresent()) {
      throw new IllegalArgumentException(
          "A goal is either a share of calls or a number of subjects");
    }
    if (callShare.isPresent() && !(callShare.get() >= 0 && callShare.get() < 1)) {
      throw new IllegalArgumentException(
          "The share of denied calls is %s: use 0 or more, and less than 1"
              .formatted(callShare.get()));
    }
    if (subjects.isPresent() && subjects.get() < 0) {
      throw new IllegalArgumentException(
          "The number of denied subjects is %s: use 0 or more".formatted(subjects.get()));
    }
    for (String algorithm : algorithms) {
      if (!ALGORITHMS.contains(algorithm)) {
        throw new IllegalArgumentException(
            "The algorithm '%s' cannot be proposed: use some of %s"
                .formatted(algorithm, String.join(", ", ALGORITHMS)));
      }
    }
    if (algorithms.isEmpty()) {
      throw new IllegalArgumentException("A goal needs an algorithm");
    }
  }

  /** At most this share of calls, such as 0.001. */
  public static Goal ofCalls(double share) {
    return new Goal(Optional.of(share), Optional.empty(), ALGORITHMS);
  }

  /** At most so many subjects. */
  public static Goal ofSubjects(long subjects) {
    return new Goal(Optional.empty(), Optional.of(subjects), ALGORITHMS);
  }

  /** Returns this goal with other algorithms. */
  public Goal withAlgorithms(List<String> other) {
    return new Goal(callShare, subjects, other);
  }
}
