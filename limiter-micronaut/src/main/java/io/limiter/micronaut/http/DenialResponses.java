// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.core.Outcome;
import io.limiter.micronaut.config.DenialConfiguration;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.limiter.micronaut.message.DenialMessages;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponseFactory;
import io.micronaut.http.MutableHttpResponse;
import jakarta.inject.Singleton;

/** Makes the answer to a refused request: status, header fields, body. */
@Singleton
public class DenialResponses {

  private final DenialConfiguration configuration;
  private final DenialMessages messages;
  private final RateLimitFields fields;
  private final DenialBody body;

  public DenialResponses(
      DenialConfiguration configuration,
      DenialMessages messages,
      RateLimitFields fields,
      DenialBody body) {
    this.configuration = configuration;
    this.messages = messages;
    this.fields = fields;
    this.body = body;
  }

  /** The answer to this request. */
  public MutableHttpResponse<?> respond(HttpRequest<?> request, LimitDeniedException cause) {
    Denial denial = denial(request, cause);
    MutableHttpResponse<?> response =
        HttpResponseFactory.INSTANCE.status(denial.status(), denial.title());
    fields.writeRefusal(denial.verdict(), response);
    return body.write(denial, response);
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
    boolean never = outcome == Outcome.LIMITED && Waits.tooCostly(cause.verdict());
    String message =
        messages.tell(
            never ? configuration.tooCostlyMessage() : said.message().orElse(configured.message()),
            never ? DenialConfiguration.TOO_COSTLY : DenialConfiguration.defaultMessage(outcome),
            request,
            () -> DenialValue.arguments(untold));
    return new Denial(request, cause, status, code, message);
  }
}
