// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.Charge;
import io.limiter.core.StateKey;
import io.limiter.core.Subject;
import io.limiter.core.rule.RuleStack;
import io.limiter.micronaut.definition.CallExpression;
import io.limiter.micronaut.definition.Origin;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.exception.InvalidCallException.InvalidIdempotencyKeyException;
import io.limiter.micronaut.subject.IdempotencyKey;
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
 * @param replay how its answers are repeated; empty if repetitions are denied
 * @param text the response to a duplicate
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
    Optional<Replay> replay,
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

  /**
   * Where the answer to a submission is kept.
   *
   * @param who whose submission it is
   * @param method the method that is called
   * @param content by which submissions are compared
   */
  public StateKey answers(Subject who, String method, String content) {
    return StateKey.of(limit, who).answers(method + '\n' + content);
  }

  /**
   * Returns this guard for a decision before security, where the default cannot compare arguments.
   */
  DuplicateGuard beforeSecurity() {
    return chosen.isEmpty()
        ? this
        : with(new Submission.ByCaller(), Optional.of("CALLER (beforeSecurity = true)"), observed);
  }

  /** Returns this guard, observed: it denies no call. */
  DuplicateGuard observe() {
    return with(submission, chosen, true);
  }

  private DuplicateGuard with(Submission other, Optional<String> why, boolean only) {
    return new DuplicateGuard(
        limit, submitter, stack, other, why, release, replay, text, condition, only);
  }

  /** What makes two submissions of one caller to one method the same. */
  @Internal
  public sealed interface Submission {

    /** Whether the arguments of the method are compared. */
    boolean needsArguments();

    /**
     * The content by which a call is compared with others; empty if it duplicates none.
     *
     * @throws InvalidIdempotencyKeyException if its request has no usable key, where it needs one
     */
    Optional<String> content(CallValues call);

    /**
     * The content of a submission that an operator names; empty if none can be named.
     *
     * @throws InvalidIdempotencyKeyException if it is not a valid key
     */
    Optional<String> named(String text);

    /** They come from the same caller. */
    record ByCaller() implements Submission {

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
    record ByArguments(List<Integer> positions) implements Submission {

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
    record ByExpression(CallExpression expression) implements Submission {

      @Override
      public boolean needsArguments() {
        return true;
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

    /**
     * They have the same {@code Idempotency-Key} header.
     *
     * @param required whether a request without one is rejected; else it duplicates none
     */
    record ByIdempotencyKey(boolean required) implements Submission {

      @Override
      public boolean needsArguments() {
        return false;
      }

      @Override
      public Optional<String> content(CallValues call) {
        Optional<String> key =
            IdempotencyKey.of(
                call.requestFor(
                    "its submissions are compared by @Duplicate.by = IDEMPOTENCY_KEY",
                    "compare them by an expression over the arguments, key = \"#{…}\""));
        if (key.isEmpty() && required) {
          throw InvalidIdempotencyKeyException.missing();
        }
        return key;
      }

      @Override
      public Optional<String> named(String text) {
        return Optional.of(IdempotencyKey.of(text));
      }
    }
  }

  /**
   * How the answer to a submission is repeated.
   *
   * @param retain how long it is kept
   * @param claim how long a submission is taken without renewal while its method runs
   * @param maxWait how long a repetition waits for the answer
   * @param unkept statuses of answers that are not kept, beside those of 500 and above
   * @param charge where it is written that repetitions are charged; empty if they are not
   */
  @Internal
  public record Replay(
      Duration retain,
      Duration claim,
      Duration maxWait,
      Set<Integer> unkept,
      Optional<Origin> charge) {

    /** How the result of a call from code is repeated. */
    public Replay(Duration retain, Duration claim, Duration maxWait) {
      this(retain, claim, maxWait, Set.of(), Optional.empty());
    }

    public static final Duration MIN_RETAIN = Duration.ofSeconds(1);
    public static final Duration MAX_RETAIN = Duration.ofDays(366);
    public static final Duration CLAIM = Duration.ofSeconds(30);
    public static final Duration MIN_CLAIM = Duration.ofSeconds(1);
    public static final Duration MAX_CLAIM = Duration.ofMinutes(10);
    public static final Duration MAX_WAIT = Duration.ofSeconds(2);
    public static final Duration LONGEST_WAIT = Duration.ofSeconds(30);

    /** Those of requests that may succeed when they are made again. */
    static final Set<Integer> UNKEPT = Set.of(401, 403, 408, 409, 425, 429);

    /** Whether an answer of this status is kept. */
    public boolean keeps(int status) {
      return status < Release.FAILURE && !unkept.contains(status);
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
