// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.Charge;
import io.limiter.core.StateKey;
import io.limiter.core.rule.RuleStack;
import io.limiter.micronaut.definition.CallExpression;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.core.annotation.Internal;
import java.time.Duration;
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
 * @param text the response to a duplicate
 * @param condition selects the calls that are compared; empty for all
 * @param observed whether it denies no call
 */
@Internal
public record DuplicateGuard(
    String limit,
    SubjectSource submitter,
    RuleStack stack,
    SubmissionContent submission,
    Optional<String> chosen,
    Release release,
    DenialText text,
    Optional<Condition> condition,
    boolean observed) {

  /** For how long a submission is a duplicate of an equal one. */
  public Duration time() {
    return stack.rules().get(0).window();
  }

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

  /**
   * Returns this guard for a decision before security, where the default cannot compare arguments.
   */
  DuplicateGuard beforeSecurity() {
    return chosen.isEmpty()
        ? this
        : with(
            new SubmissionContent.ByCaller(),
            Optional.of("CALLER (beforeSecurity = true)"),
            observed);
  }

  /** Returns this guard, observed: it denies no call. */
  DuplicateGuard observe() {
    return with(submission, chosen, true);
  }

  private DuplicateGuard with(SubmissionContent other, Optional<String> why, boolean only) {
    return new DuplicateGuard(limit, submitter, stack, other, why, release, text, condition, only);
  }

  /** What makes two submissions of one caller to one method the same. */
  @Internal
  public sealed interface SubmissionContent {

    /** Whether it needs arguments that are bound after the gate. */
    boolean needsArguments();

    /** The content by which a call is compared with others; empty if it duplicates none. */
    Optional<String> content(CallValues call);

    /** The content of a submission that an operator names; empty if none can be named. */
    Optional<String> named(String text);

    /** They come from the same caller. */
    record ByCaller() implements SubmissionContent {

      @Override
      public boolean needsArguments() {
        return false;
      }

      @Override
      public Optional<String> content(CallValues call) {
        return Optional.of("");
      }

      @Override
      public Optional<String> named(String text) {
        return Optional.empty();
      }
    }

    /**
     * Their arguments are equal as JSON.
     *
     * @param positions which of the method's arguments, from 0
     */
    record ByArguments(List<Integer> positions) implements SubmissionContent {

      @Override
      public boolean needsArguments() {
        return true;
      }

      @Override
      public Optional<String> content(CallValues call) {
        return call.digest(positions);
      }

      @Override
      public Optional<String> named(String text) {
        return Optional.empty();
      }
    }

    /** An expression over their arguments has the same value. */
    record ByExpression(CallExpression expression) implements SubmissionContent {

      @Override
      public boolean needsArguments() {
        return expression.needsArguments();
      }

      @Override
      public Optional<String> content(CallValues call) {
        return Optional.of(call.text(expression));
      }

      @Override
      public Optional<String> named(String text) {
        return Optional.of(text);
      }
    }
  }

  /**
   * After which outcomes a submission may be made again at once. One whose method was never entered
   * may always be: see {@code LimitedCall}.
   *
   * @param onFailure after an exception of the method, and after a status of 500 and above
   * @param statuses after answers of these statuses, 400 to 599. Outside of HTTP an exception
   *     counts as {@value #FAILURE}
   */
  @Internal
  public record Release(boolean onFailure, Set<Integer> statuses) {

    /** The status that an exception counts as where no answer has one. */
    public static final int FAILURE = 500;

    /** After none. */
    public static final Release NEVER = new Release(false, Set.of());

    /** After failures, the default. */
    public static final Release ON_FAILURE = new Release(true, Set.of());

    /** After answers of these statuses. */
    public static Release on(Set<Integer> statuses) {
      return new Release(false, statuses);
    }

    /**
     * Whether a call that ended so releases its submission.
     *
     * @param status of its answer; outside of HTTP, what an exception counts as
     * @param threw whether its method threw, whatever response was made of that
     */
    public boolean after(int status, boolean threw) {
      return onFailure ? threw || status >= FAILURE : statuses.contains(status);
    }
  }
}
