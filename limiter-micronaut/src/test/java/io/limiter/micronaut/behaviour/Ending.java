// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Error;
import io.micronaut.http.server.exceptions.ExceptionHandler;
import jakarta.inject.Singleton;

/** How a call of {@link ReleaseOnRoutes} ends: by a status, or an exception that becomes one. */
enum Ending {
  RETURNED,
  /** By an {@link Error} method. */
  MAPPED,
  /** By an {@link ExceptionHandler}. */
  HANDLED,
  /** By no handler, so the status is 500. */
  UNEXPECTED;

  /** Returns the answer of this status, or throws what becomes one. */
  HttpResponse<String> end(int status) {
    if (this != RETURNED) {
      throw exception(status);
    }
    return answer(status);
  }

  RuntimeException exception(int status) {
    return switch (this) {
      case MAPPED -> new MappedException(status);
      case HANDLED -> new HandledException(status);
      case UNEXPECTED, RETURNED -> new IllegalStateException("unexpected");
    };
  }

  private static HttpResponse<String> answer(int status) {
    return HttpResponse.<String>status(HttpStatus.valueOf(status)).body("");
  }

  static final class MappedException extends RuntimeException {
    private static final long serialVersionUID = 1L;
    private final int status;

    MappedException(int status) {
      this.status = status;
    }
  }

  static final class HandledException extends RuntimeException {
    private static final long serialVersionUID = 1L;
    private final int status;

    HandledException(int status) {
      this.status = status;
    }
  }

  @Controller
  @Requires(property = "spec.name", value = ReleaseOnRoutes.SPEC)
  static class Mapper {
    @Error(global = true)
    HttpResponse<String> mapped(MappedException e) {
      return answer(e.status);
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = ReleaseOnRoutes.SPEC)
  static class Handler implements ExceptionHandler<HandledException, HttpResponse<?>> {
    @Override
    public HttpResponse<?> handle(
        @SuppressWarnings("rawtypes") HttpRequest request, HandledException e) {
      return answer(e.status);
    }
  }
}
