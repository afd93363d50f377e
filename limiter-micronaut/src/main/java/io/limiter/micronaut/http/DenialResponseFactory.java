// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.core.Outcome;
import io.limiter.micronaut.config.DenialConfiguration;
import io.limiter.micronaut.denial.Denial;
import io.limiter.micronaut.denial.DenialBody;
import io.limiter.micronaut.denial.DenialMessages;
import io.limiter.micronaut.denial.DenialTimes;
import io.limiter.micronaut.denial.DenialValue;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.limiter.micronaut.log.BrokenPartLog;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponseFactory;
import io.micronaut.http.MutableHttpResponse;
import jakarta.inject.Singleton;
import java.util.Objects;
import org.slf4j.LoggerFactory;

/**
 * Makes the response to a denied request: status and body. A filter adds the header fields of
 * {@link RateLimitFields} to every denial.
 */
@Singleton
public class DenialResponseFactory {

  private final DenialConfiguration configuration;
  private final DenialMessages messages;
  private final DenialBody body;
  private final BrokenPartLog log =
      new BrokenPartLog(LoggerFactory.getLogger(DenialResponseFactory.class));

  public DenialResponseFactory(
      DenialConfiguration configuration, DenialMessages messages, DenialBody body) {
    this.configuration = configuration;
    this.messages = messages;
    this.body = body;
  }

  /**
   * The answer to this request. A refusal stays one whatever becomes of its words: if the body
   * fails, which may be the application's, there is none.
   */
  public MutableHttpResponse<?> respond(HttpRequest<?> request, LimitDeniedException cause) {
    Denial denial = denial(request, cause);
    try {
      return Objects.requireNonNull(
          body.write(denial, begun(denial)), "it gave null: let it give the response");
    } catch (RuntimeException broken) {
      log.report(
          "%s has failed, so refusals go out without a body".formatted(body.getClass().getName()),
          broken);
      return begun(denial);
    }
  }

  private MutableHttpResponse<?> begun(Denial denial) {
    return HttpResponseFactory.INSTANCE.status(denial.status(), denial.title());
  }

  /** What the annotation says goes before what the configuration says. */
  private Denial denial(HttpRequest<?> request, LimitDeniedException cause) {
    Outcome outcome = cause.verdict().outcome();
    DenialConfiguration.Answer configured = configuration.answer(outcome);
    DenialText said = cause.text();
    int status = said.status().orElse(configured.status());
    String code = said.code().orElse(configured.code());
    Denial untold = new Denial(request, cause, status, code, "");
    // Whatever else is said is about waiting, or coming back.
    boolean never = outcome == Outcome.LIMITED && DenialTimes.tooCostly(cause.verdict());
    String told =
        never
            ? message(untold, configuration.tooCostlyMessage(), DenialConfiguration.TOO_COSTLY)
            : message(
                untold,
                said.message().orElse(configured.message()),
                DenialConfiguration.defaultMessage(outcome));
    return new Denial(request, cause, status, code, told);
  }

  /** The words of the message; those of the status, if the application's have failed. */
  private String message(Denial untold, String message, String otherwise) {
    try {
      return Objects.requireNonNull(
          messages.tell(message, otherwise, untold.request(), () -> DenialValue.arguments(untold)),
          "it gave null: let it give a text");
    } catch (RuntimeException broken) {
      log.report(
          "%s has failed, so refusals are told by their status alone"
              .formatted(messages.getClass().getName()),
          broken);
      return untold.title();
    }
  }
}
