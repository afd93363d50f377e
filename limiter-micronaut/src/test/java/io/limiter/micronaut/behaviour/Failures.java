// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Error;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;

/** How the next call of a method of {@link FailingRoutes} or {@link FailingBean} fails. */
@Singleton
@Requires(property = "spec.name", value = Failures.SPEC)
final class Failures {

  static final String SPEC = "Failures";

  private final AtomicReference<Failure> next = new AtomicReference<>();

  /** What can be thrown. */
  enum Failure {
    /** Handled as any exception without a handler. */
    UNEXPECTED(500, () -> new IllegalStateException("unexpected")),
    /** The compiler knows it; what calls the method in its place does not declare it. */
    CHECKED(500, () -> new IOException("checked")),
    ERROR(500, () -> new AssertionError("error")),
    /** The application answers it with a status that is no failure of the server. */
    HANDLED(422, HandledException::new);

    final int status;
    private final Supplier<Throwable> made;

    Failure(int status, Supplier<Throwable> made) {
      this.status = status;
      this.made = made;
    }

    Throwable make() {
      return made.get();
    }
  }

  /** Answered by {@link Handler}. */
  static final class HandledException extends Exception {
    private static final long serialVersionUID = 1L;
  }

  /** The application's own answer. */
  @Controller
  @Requires(property = "spec.name", value = SPEC)
  static class Handler {

    @Error(global = true)
    HttpResponse<String> handled(HandledException failure) {
      return HttpResponse.unprocessableEntity().body("handled");
    }
  }

  void failNext(Failure failure) {
    next.set(failure);
  }

  /** The failure of this call, if it is to have one. */
  Throwable pending() {
    Failure failure = next.getAndSet(null);
    return failure == null ? null : failure.make();
  }

  /** Throws the failure of this call, if it is to have one, whatever it is. */
  void throwPending() {
    Throwable failure = pending();
    if (failure != null) {
      throw Failures.<RuntimeException>sneaky(failure);
    }
  }

  @SuppressWarnings("unchecked")
  private static <T extends Throwable> T sneaky(Throwable failure) throws T {
    throw (T) failure;
  }
}
