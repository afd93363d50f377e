// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.core.Outcome;
import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.config.DenialConfiguration;
import io.limiter.micronaut.denial.Denial;
import io.limiter.micronaut.denial.DenialBody;
import io.limiter.micronaut.denial.DenialBodyFactory;
import io.limiter.micronaut.denial.DenialMessages;
import io.limiter.micronaut.denial.DenialTimes;
import io.limiter.micronaut.denial.DenialValue;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponseFactory;
import io.micronaut.http.MutableHttpResponse;
import jakarta.inject.Singleton;
import java.util.Locale;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes the response to a denied request: status and body. A filter adds the header fields of
 * {@link RateLimitFields} to every denial.
 */
@Singleton
public class DenialResponseFactory {

  private static final Logger LOG = LoggerFactory.getLogger(DenialResponseFactory.class);

  private final DenialConfiguration configuration;
  private final DenialMessages messages;
  private final DenialBody body;
  private final LogThrottle failures = new LogThrottle();

  public DenialResponseFactory(
      DenialConfiguration configuration, DenialMessages messages, DenialBody body) {
    this.configuration = configuration;
    this.messages = messages;
    this.body = body;
  }

  /**
   * The response to this request. If the body, which may be the application's, fails, the response
   * has none: it is a denial all the same.
   */
  public MutableHttpResponse<?> respond(HttpRequest<?> request, LimitDeniedException cause) {
    Denial denial = denial(request, cause);
    try {
      return Objects.requireNonNull(
          body.write(denial, begun(denial)), "it gave null: let it give the response");
    } catch (RuntimeException broken) {
      failures.report(
          LOG,
          "%s has failed, so denials are sent without a body".formatted(body.getClass().getName()),
          broken);
      return begun(denial);
    }
  }

  private MutableHttpResponse<?> begun(Denial denial) {
    return HttpResponseFactory.INSTANCE.status(denial.status(), denial.title());
  }

  /** The text of an annotation takes precedence over the configuration. */
  private Denial denial(HttpRequest<?> request, LimitDeniedException cause) {
    Outcome outcome = cause.verdict().outcome();
    DenialConfiguration.Answer configured = configuration.answer(outcome);
    DenialText own = cause.text();
    int status = own.status().orElse(configured.status());
    String code = own.code().orElse(configured.code());
    Denial withoutMessage = new Denial(request, cause, status, code, "");
    String message =
        message(
            withoutMessage,
            message(cause),
            isNever(cause)
                ? DenialConfiguration.TOO_COSTLY
                : DenialConfiguration.defaultMessage(outcome));
    return new Denial(request, cause, status, code, message);
  }

  /** Other messages are about waiting. */
  private static boolean isNever(LimitDeniedException cause) {
    return cause.verdict().outcome() == Outcome.LIMITED && DenialTimes.tooCostly(cause.verdict());
  }

  private String message(LimitDeniedException cause) {
    return isNever(cause)
        ? configuration.tooCostlyMessage()
        : cause
            .text()
            .message()
            .orElseGet(() -> configuration.answer(cause.verdict().outcome()).message());
  }

  /** The language in which the message of a denial is looked up; null if it is a text. */
  @Nullable Locale language(HttpRequest<?> request, LimitDeniedException cause) {
    return messages.language(message(cause), request);
  }

  /**
   * Whether the responses depend on nothing but the request and its denial: not if the application
   * makes them, or their bodies or messages.
   */
  boolean areKnown() {
    return getClass() == DenialResponseFactory.class
        && messages.getClass() == DenialMessages.class
        && DenialBodyFactory.isKnown(body);
  }

  /** The message; the title of the status, if the application's source of messages has failed. */
  private String message(Denial withoutMessage, String message, String otherwise) {
    try {
      return Objects.requireNonNull(
          messages.render(
              message,
              otherwise,
              withoutMessage.request(),
              () -> DenialValue.arguments(withoutMessage)),
          "it gave null: let it give a text");
    } catch (RuntimeException broken) {
      failures.report(
          LOG,
          "%s has failed, so denials have the title of their status as message"
              .formatted(messages.getClass().getName()),
          broken);
      return withoutMessage.title();
    }
  }
}
