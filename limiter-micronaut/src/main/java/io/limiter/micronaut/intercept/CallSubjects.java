// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.intercept;

import io.limiter.core.LimitRequest;
import io.limiter.core.Subject;
import io.limiter.micronaut.plan.DuplicateGuard.Submission;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.subject.RequestSubjects;
import io.limiter.micronaut.subject.SubjectSource;
import io.limiter.micronaut.subject.SubmissionDigest;
import io.micronaut.aop.MethodInvocationContext;
import io.micronaut.context.BeanProvider;
import io.micronaut.http.HttpRequest;
import jakarta.inject.Singleton;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Finds the subjects, the submission and the cost of a call from the call itself. */
@Singleton
final class CallSubjects {

  private final RequestSubjects requestSubjects;
  private final BeanProvider<SubmissionDigest> digest;

  CallSubjects(RequestSubjects requestSubjects, BeanProvider<SubmissionDigest> digest) {
    this.requestSubjects = requestSubjects;
    this.digest = digest;
  }

  /**
   * What is asked of the store for one call.
   *
   * @param request empty if the call is charged nothing
   * @param who finds the subject of a source
   * @param failure why its submission cannot be compared with others; null if it can. Such a call
   *     must not enter its method, but its rules count it: a caller could avoid its limit with such
   *     input otherwise
   */
  record Asked(
      Optional<LimitRequest> request,
      Function<SubjectSource, Subject> who,
      @Nullable RuntimeException failure) {}

  /** What is asked of the store for this call. */
  Asked request(
      MethodInvocationContext<?, ?> call, LimitPlan plan, Optional<HttpRequest<?>> request) {
    AtomicReference<@Nullable RuntimeException> failure = new AtomicReference<>();
    Function<SubjectSource, Subject> who = source -> counted(source, call, plan, request);
    Optional<LimitRequest> asked =
        plan.request(
            who,
            submission -> {
              if (submission instanceof Submission.ByArguments by) {
                try {
                  return Optional.of(digest(call, plan, by));
                } catch (RuntimeException indigestible) {
                  failure.set(indigestible);
                  return Optional.empty();
                }
              }
              return content(submission, call, plan, request);
            },
            cost -> cost.units(call.getTarget(), call.getParameterValues()));
    return new Asked(asked, who, failure.get());
  }

  private String digest(
      MethodInvocationContext<?, ?> call, LimitPlan plan, Submission.ByArguments by) {
    return digest
        .get()
        .of(plan.method(), call.getArguments(), call.getParameterValues(), by.positions());
  }

  private Subject counted(
      SubjectSource source,
      MethodInvocationContext<?, ?> call,
      LimitPlan plan,
      Optional<HttpRequest<?>> request) {
    if (source instanceof SubjectSource.Expression argument) {
      return requestSubjects.named(
          argument, argument.expression().evaluate(call.getTarget(), call.getParameterValues()));
    }
    return request
        .map(http -> requestSubjects.resolve(source, http))
        .or(() -> requestSubjects.resolveOutsideOfRequest(source))
        .orElseThrow(() -> outsideOfRequest(plan, source));
  }

  /** The content by which the submission is compared with others of the same caller. */
  private Optional<String> content(
      Submission submission,
      MethodInvocationContext<?, ?> call,
      LimitPlan plan,
      Optional<HttpRequest<?>> request) {
    if (submission instanceof Submission.ByExpression by) {
      return Optional.of(by.expression().evaluate(call.getTarget(), call.getParameterValues()));
    }
    if (submission instanceof Submission.ByCaller) {
      return Optional.of("");
    }
    return submission.ofRequest(
        request.orElseThrow(
            () ->
                outsideOfRequest(
                    plan,
                    "its submissions are compared by @Duplicate.by = IDEMPOTENCY_KEY",
                    "compare them by an expression over the arguments, key = \"#{…}\"")));
  }

  private static IllegalStateException outsideOfRequest(LimitPlan plan, SubjectSource source) {
    if (source instanceof SubjectSource.Address) {
      return outsideOfRequest(
          plan,
          "its calls are counted by the address of the caller, which is the default (limitType = IP)",
          "count all calls together with limitType = GLOBAL, or a subject of its own by an expression over the arguments, subject = \"#{…}\"");
    }
    return outsideOfRequest(
        plan,
        "its calls are counted by " + source.written(),
        source instanceof SubjectSource.Resolver
            ? "return a subject from its resolveOutsideOfRequest(), or count all calls together with limitType = GLOBAL"
            : "use limitType = GLOBAL, an expression over the arguments, subject = \"#{…}\", or a resolver that determines who calls");
  }

  private static IllegalStateException outsideOfRequest(
      LimitPlan plan, String what, String remedy) {
    return new IllegalStateException(
        "%s: %s, and it was called outside of an HTTP request, for example by a job, or by a client that is not used by a request: %s"
            .formatted(plan.method(), what, remedy));
  }
}
