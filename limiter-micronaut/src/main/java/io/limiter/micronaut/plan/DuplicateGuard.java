// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.Charge;
import io.limiter.core.StateKey;
import io.limiter.core.rule.RuleStack;
import io.limiter.micronaut.definition.CallExpression;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.exception.InvalidCallException.InvalidIdempotencyKeyException;
import io.limiter.micronaut.subject.IdempotencyKey;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.core.annotation.Internal;
import io.micronaut.http.HttpRequest;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * How a method denies submissions that were accepted a moment ago.
 *
 * @param limit what is limited: submissions live beside the rules of that limit
 * @param submitter whose submission a call is
 * @param stack how many equal submissions are accepted in which time
 * @param submission what makes submissions equal
 * @param chosen what the default of {@code @Duplicate} chose, and why, for the log; empty if the
 *     annotation chooses
 * @param release after which failures a submission may be made again
 * @param text what the caller of a duplicate is answered
 * @param condition selects the calls that are compared; empty for all
 * @param observed whether it denies no call
 */
@Internal
public record DuplicateGuard(
    String limit,
    SubjectSource submitter,
    RuleStack stack,
    Submission submission,
    Optional<String> chosen,
    Release release,
    DenialText text,
    Optional<Condition> condition,
    boolean observed) {

  /**
   * What a submission is charged. No method's description has a line break, so no content can make
   * one look like another.
   *
   * @param submitter one of its state keys
   * @param method the method that is called
   * @param content by which submissions are compared
   */
  Charge charge(StateKey submitter, String method, String content) {
    return new Charge(
        limit, submitter.duplicates(stack, method + '\n' + content), stack, 1, observed);
  }

  /** The same guard before security, where no default can compare arguments. */
  DuplicateGuard beforeSecurity() {
    return chosen.isEmpty()
        ? this
        : with(new Submission.ByCaller(), Optional.of("CALLER (beforeSecurity = true)"), observed);
  }

  /** The same guard, which denies no call. */
  DuplicateGuard observe() {
    return with(submission, chosen, true);
  }

  private DuplicateGuard with(Submission other, Optional<String> why, boolean only) {
    return new DuplicateGuard(limit, submitter, stack, other, why, release, text, condition, only);
  }

  /** What makes two submissions of one caller to one method the same. */
  @Internal
  public sealed interface Submission {

    /** They come from the same caller. */
    record ByCaller() implements Submission {}

    /**
     * Their arguments are equal as JSON.
     *
     * @param positions which of the method's arguments, from 0
     */
    record ByArguments(List<Integer> positions) implements Submission {}

    /** An expression over their arguments has the same value. */
    record ByExpression(CallExpression expression) implements Submission {}

    /**
     * They have the same {@code Idempotency-Key} header.
     *
     * @param required whether a request without one is rejected; else it duplicates none
     */
    record ByIdempotencyKey(boolean required) implements Submission {}

    /** Whether the arguments of the method are compared. */
    default boolean needsArguments() {
      return this instanceof ByArguments || this instanceof ByExpression;
    }

    /**
     * The content of a submission that an operator names; empty if none can be named.
     *
     * @throws InvalidIdempotencyKeyException if it should be a key, and is none
     */
    default Optional<String> named(String text) {
      if (this instanceof ByIdempotencyKey) {
        return Optional.of(IdempotencyKey.of(text));
      }
      return this instanceof ByExpression ? Optional.of(text) : Optional.empty();
    }

    /**
     * The content by which this request is compared with others; empty if it duplicates none.
     *
     * @throws InvalidIdempotencyKeyException if it has no usable key, where it needs one
     * @throws IllegalArgumentException if only the arguments of the method are compared
     */
    default Optional<String> ofRequest(HttpRequest<?> request) {
      if (this instanceof ByCaller) {
        return Optional.of("");
      }
      if (this instanceof ByIdempotencyKey byKey) {
        Optional<String> key = IdempotencyKey.of(request);
        if (key.isEmpty() && byKey.required()) {
          throw InvalidIdempotencyKeyException.missing();
        }
        return key;
      }
      throw new IllegalArgumentException("A request has no content for " + this);
    }
  }

  /**
   * After which outcomes a submission may be made again at once. One whose method was never entered
   * may always be: see {@code LimitedCall}.
   */
  @Internal
  public sealed interface Release {

    /** The status that an exception counts as where no answer has one. */
    int FAILURE = 500;

    /** After none. */
    record Never() implements Release {}

    /** After an exception of the method, and after a status of 500 and above. */
    record OnFailure() implements Release {}

    /**
     * After answers of these statuses. Outside of HTTP an exception counts as {@value #FAILURE}.
     *
     * @param statuses 400 to 599
     */
    record OnStatus(Set<Integer> statuses) implements Release {}

    /**
     * Whether a call that ended so releases its submission.
     *
     * @param status of its answer; outside of HTTP, what an exception counts as
     * @param threw whether its method threw, whatever answer that was given
     */
    default boolean after(int status, boolean threw) {
      return this instanceof OnStatus list
          ? list.statuses().contains(status)
          : this instanceof OnFailure && (threw || status >= FAILURE);
    }
  }
}
