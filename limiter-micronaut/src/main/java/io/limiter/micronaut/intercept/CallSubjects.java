// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.intercept;

import io.limiter.core.Subject;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.exception.MissingSubjectException;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.subject.DigestibleTypes;
import io.limiter.micronaut.subject.NumberText;
import io.limiter.micronaut.subject.RequestSubjects;
import io.limiter.micronaut.subject.SubmissionDigest;
import io.micronaut.aop.MethodInvocationContext;
import io.micronaut.context.BeanProvider;
import io.micronaut.context.exceptions.ExpressionEvaluationException;
import io.micronaut.core.annotation.AnnotationValue;
import io.micronaut.http.HttpRequest;
import io.micronaut.json.tree.JsonNode;
import jakarta.inject.Singleton;
import java.util.Map;
import java.util.Optional;

/** Finds who is counted, and what is submitted, from a call of the method itself. */
@Singleton
final class CallSubjects {

  private static final String ARGUMENT = "argument";

  private final RequestSubjects requestSubjects;
  private final BeanProvider<SubmissionDigest> digest;

  CallSubjects(RequestSubjects requestSubjects, BeanProvider<SubmissionDigest> digest) {
    this.requestSubjects = requestSubjects;
    this.digest = digest;
  }

  Subject subject(
      MethodInvocationContext<?, ?> call, LimitPlan plan, Optional<HttpRequest<?>> request) {
    if (plan.expression()) {
      return new Subject(ARGUMENT, expression(call, plan));
    }
    if (plan.subject() == LimitType.GLOBAL) {
      return Subject.global();
    }
    return request
        .map(http -> requestSubjects.resolve(plan.subject(), http))
        .orElseThrow(
            () ->
                new IllegalStateException(
                    mistake(
                        plan,
                        "limitType = " + plan.subject(),
                        "the method was called outside of an HTTP request, which alone knows that: use subject = \"#{…}\" over its arguments, or limitType = GLOBAL")));
  }

  /** Whose submission the call is: where everybody is counted as one, still each caller's own. */
  Subject submitter(Subject caller, LimitPlan plan, Optional<HttpRequest<?>> request) {
    return plan.expression()
        ? caller
        : request.map(http -> requestSubjects.submitter(plan.subject(), http)).orElse(caller);
  }

  /** What tells the submission from others of the same caller to the same method. */
  String content(MethodInvocationContext<?, ?> call, LimitPlan plan) {
    return plan.digestsArguments() ? digest.get().of(call.getParameterValues()) : "";
  }

  private static String expression(MethodInvocationContext<?, ?> call, LimitPlan plan) {
    Optional<Object> value;
    try {
      AnnotationValue<RateLimiter> limiter = call.getAnnotation(RateLimiter.class);
      value = limiter == null ? Optional.empty() : limiter.get("subject", Object.class);
    } catch (ExpressionEvaluationException e) {
      throw missing(plan, "subject", "the expression failed (" + e.getMessage() + ")");
    }
    return text(
        plan,
        value.orElseThrow(
            () ->
                missing(plan, "subject", "the expression is null: the call must give it a value")));
  }

  /** Equal values have equal texts, and only they. */
  private static String text(LimitPlan plan, Object value) {
    if (value instanceof Map || value instanceof Iterable || value instanceof JsonNode) {
      // Within an untyped body it is the caller who chose to send a structure: no fault of ours.
      throw missing(
          plan, "subject", "the expression gives a structure: it must be a text or a number");
    }
    if (!DigestibleTypes.isPlain(value.getClass())) {
      throw new IllegalStateException(
          mistake(
              plan,
              "subject",
              "the expression gives a %s, which may be another text at each call: let it give a text or a number"
                  .formatted(value.getClass().getName())));
    }
    String text = value instanceof Number number ? NumberText.of(number) : value.toString();
    if (text.isBlank()) {
      throw missing(plan, "subject", "the expression is empty: the call must give it a value");
    }
    return text;
  }

  private static MissingSubjectException missing(LimitPlan plan, String member, String remedy) {
    return new MissingSubjectException(mistake(plan, member, remedy));
  }

  private static String mistake(LimitPlan plan, String member, String remedy) {
    return "%s: @RateLimiter.%s: %s".formatted(plan.method(), member, remedy);
  }
}
