// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.micronaut.plan.Submission;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Finds the arguments by which submissions to a method are compared. */
final class ComparedArguments {

  private ComparedArguments() {}

  /**
   * What the default of duplicate.by chooses for a method.
   *
   * @param written the choice and its reason, for the log
   */
  record Choice(Submission submission, String written) {}

  /**
   * Compares all arguments that the caller provides, if there are any and JSON can represent them.
   */
  static Choice choose(LimitedMethod method) {
    List<LimitedMethod.Parameter> parameters = method.parameters().orElse(List.of());
    List<Integer> filled =
        IntStream.range(0, parameters.size())
            .filter(i -> parameters.get(i).isFilled())
            .boxed()
            .toList();
    if (filled.isEmpty()) {
      return new Choice(new Submission.ByCaller(), "CALLER (the caller provides no argument)");
    }
    return filled.stream()
        .map(parameters::get)
        .flatMap(
            parameter ->
                parameter.obstacle().stream()
                    .map(
                        part ->
                            "CALLER ('%s' cannot be compared because of %s)"
                                .formatted(parameter.name(), part)))
        .findFirst()
        .map(reason -> new Choice(new Submission.ByCaller(), reason))
        .orElseGet(
            () ->
                new Choice(
                    new Submission.ByArguments(filled),
                    filled.stream()
                        .map(i -> parameters.get(i).name())
                        .collect(Collectors.joining(", ", "ARGUMENTS (", ")"))));
  }

  /**
   * All arguments except the verdict and those that Kotlin adds. Rejects arguments that JSON cannot
   * represent.
   */
  static Submission.ByArguments all(AnnotationMembers limiter, LimitedMethod method) {
    Optional<List<LimitedMethod.Parameter>> known = method.parameters();
    if (known.filter(List::isEmpty).isPresent()) {
      throw limiter.error("by", "ARGUMENTS", "the method has no arguments: use DuplicateBy.CALLER");
    }
    List<LimitedMethod.Parameter> parameters = known.orElse(List.of());
    List<Integer> compared =
        IntStream.range(0, parameters.size())
            .filter(i -> parameters.get(i).isCompared())
            .boxed()
            .toList();
    for (int i : compared) {
      parameters
          .get(i)
          .obstacle()
          .ifPresent(
              part -> {
                throw limiter.error(
                    "by",
                    "ARGUMENTS",
                    "the parameter '%s' cannot be digested because of %s: make it plain data or an @Introspected type, remove it from the method, or use DuplicateBy.CALLER"
                        .formatted(parameters.get(i).name(), part));
              });
    }
    return new Submission.ByArguments(compared);
  }
}
