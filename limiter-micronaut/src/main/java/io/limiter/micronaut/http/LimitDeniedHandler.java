// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.core.Outcome;
import io.limiter.core.Verdict;
import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.config.DenialConfiguration;
import io.limiter.micronaut.denial.Denial;
import io.limiter.micronaut.denial.DenialBody;
import io.limiter.micronaut.denial.DenialMessages;
import io.limiter.micronaut.denial.DirectBody;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.micronaut.context.annotation.Secondary;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpResponseFactory;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.Produces;
import io.micronaut.http.server.exceptions.ExceptionHandler;
import jakarta.inject.Singleton;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Responds to denied requests with a status and a body. An {@code @Error} method or a handler of
 * the application goes before it. A filter adds the header fields of {@link RateLimitFields} to
 * every denial.
 */
@Singleton
@Secondary // a handler of the application takes precedence
@Produces
public class LimitDeniedHandler implements ExceptionHandler<LimitDeniedException, HttpResponse<?>> {

  private static final Logger LOG = LoggerFactory.getLogger(LimitDeniedHandler.class);

  private final Map<Outcome, DenialText> configured = new EnumMap<>(Outcome.class);
  private final String tooCostly;
  private final String inFlight;
  private final DenialMessages messages;
  private final DenialBody body;
  private final LogThrottle failures = new LogThrottle();

  public LimitDeniedHandler(
      DenialConfiguration configuration, DenialMessages messages, DenialBody body) {
    for (Outcome outcome : Outcome.values()) {
      if (outcome != Outcome.ALLOWED) {
        configured.put(outcome, configuration.text(outcome));
      }
    }
    this.tooCostly = configuration.tooCostlyMessage();
    this.inFlight = configuration.inFlightMessage();
    this.messages = messages;
    this.body = body;
  }

  /**
   * The response to this request. If the body, which may be the application's, fails, the response
   * has none: it is a denial all the same.
   */
  @Override
  public MutableHttpResponse<?> handle(
      @SuppressWarnings("rawtypes") HttpRequest request, LimitDeniedException denied) {
    return respond(denial(request, denied));
  }

  MutableHttpResponse<?> respond(Denial denial) {
    try {
      return Objects.requireNonNull(
          body.write(denial, begun(denial)), "it returned null: let it return the response");
    } catch (Throwable broken) {
      failures.report(
          LOG,
          "%s has failed, so denials are sent without a body".formatted(body.getClass().getName()),
          broken);
      return begun(denial);
    }
  }

  static MutableHttpResponse<?> begun(Denial denial) {
    return HttpResponseFactory.INSTANCE.status(denial.status(), denial.title());
  }

  /** A denied request and the contents of its response. */
  Denial denial(HttpRequest<?> request, LimitDeniedException denied) {
    Outcome outcome = denied.verdict().outcome();
    DenialText text = denied.text().or(configured.getOrDefault(outcome, DenialText.NONE));
    String ownMessage = DenialText.ownMessage(outcome);
    if (outcome == Outcome.LIMITED && isTooCostly(denied.verdict())) {
      // Also before the message of an annotation: other messages are about waiting.
      text = DenialText.message(tooCostly).or(text);
      ownMessage = DenialText.TOO_COSTLY;
    } else if (isInFlight(denied.verdict())
        && denied.text().message().filter(own -> !own.contains("{retryAfter}")).isEmpty()) {
      text = DenialText.message(inFlight).or(text);
      ownMessage = DenialText.IN_FLIGHT;
    }
    Denial withoutMessage =
        new Denial(request, denied, text.status().orElseThrow(), text.code().orElseThrow(), "");
    String message =
        messages.render(
            withoutMessage.status(),
            text.message().orElseThrow(),
            ownMessage,
            request,
            () -> Denial.Value.arguments(withoutMessage));
    return new Denial(request, denied, withoutMessage.status(), withoutMessage.code(), message);
  }

  /** Whether the call costs too much for a rule that admits others. */
  private static boolean isTooCostly(Verdict verdict) {
    return verdict.tooCostly()
        && verdict.denying().filter(longest -> longest.rule().count() == 0).isEmpty();
  }

  /** Whether a concurrency limit denies the call, so that the wait is unknown. */
  private static boolean isInFlight(Verdict verdict) {
    return verdict.outcome() == Outcome.LIMITED
        && verdict.retryAfter().isEmpty()
        && verdict.denying().filter(longest -> longest.rule().holdsPermits()).isPresent();
  }

  /**
   * The body, if the responses depend on nothing but the request and its denial: empty if the
   * application makes them, or their bodies or messages.
   */
  Optional<DirectBody> directBody() {
    return getClass() == LimitDeniedHandler.class
            && messages.getClass() == DenialMessages.class
            && body instanceof DirectBody direct
        ? Optional.of(direct)
        : Optional.empty();
  }
}
