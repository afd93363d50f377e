// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.limiter.micronaut.config.CallerConfiguration.BlockConfiguration;
import io.limiter.micronaut.denial.DenialBodyFactory.ApplicationBody;
import io.limiter.micronaut.exception.InvalidCallException;
import io.micronaut.context.BeanProvider;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponseFactory;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.exceptions.HttpStatusException;
import io.micronaut.http.server.exceptions.response.ErrorResponseProcessor;
import jakarta.inject.Singleton;
import java.util.Map;
import java.util.Optional;

/**
 * Responds to requests that are rejected without a verdict, with a body in the form of denials. An
 * application that makes the bodies of denials itself has its own error format here.
 */
@Singleton
public final class Rejections {

  private final DenialMessages messages;
  private final DirectBody body;
  private final ServerFields fields;

  Rejections(
      DenialMessages messages,
      DenialBody body,
      BeanProvider<ErrorResponseProcessor<?>> application,
      ServerFields fields) {
    this.messages = messages;
    this.fields = fields;
    this.body =
        body instanceof DirectBody own
            ? own
            : new ApplicationBody(application, processor -> Optional.empty());
  }

  /**
   * Responds to a request without a valid value that a limit needs.
   *
   * @param message a text, or a key in braces
   */
  public MutableHttpResponse<?> badRequest(
      HttpRequest<?> request, InvalidCallException mistake, String message) {
    int status = HttpStatus.BAD_REQUEST.getCode();
    return respond(
        new Rejection.Plain(
            request,
            status,
            mistake.code(),
            render(status, message, message, request),
            Optional.of(mistake)));
  }

  /**
   * Responds to a blocked caller.
   *
   * @throws HttpStatusException in the application's own format, which may have a handler for a
   *     status that Micronaut names
   */
  public MutableHttpResponse<?> blocked(HttpRequest<?> request, BlockConfiguration block) {
    String message =
        render(block.status(), block.message(), BlockConfiguration.DEFAULT_MESSAGE, request);
    Optional<HttpStatus> named = Denial.named(block.status());
    if (body instanceof ApplicationBody && named.isPresent()) {
      throw new HttpStatusException(named.get(), message);
    }
    return respond(
        new Rejection.Plain(
            request, block.status(), BlockConfiguration.CODE, message, Optional.empty()));
  }

  /**
   * Responds to a request that is rejected for another reason.
   *
   * @param code by which programs recognize the reason; the key of its message has hyphens
   */
  public MutableHttpResponse<?> reject(HttpRequest<?> request, HttpStatus status, String code) {
    String key = "{limiter.%s}".formatted(code.replace('_', '-'));
    String message = render(status.getCode(), key, key, request);
    return respond(new Rejection.Plain(request, status.getCode(), code, message, Optional.empty()));
  }

  private String render(int status, String message, String otherwise, HttpRequest<?> request) {
    return messages.render(
        status,
        message,
        otherwise,
        request,
        () -> Map.of("path", request.getPath(), "method", request.getMethodName()));
  }

  private MutableHttpResponse<?> respond(Rejection.Plain rejection) {
    MutableHttpResponse<?> response =
        body.reject(
            rejection, HttpResponseFactory.INSTANCE.status(rejection.status(), rejection.title()));
    fields.writeTo(response.getHeaders());
    return response;
  }
}
