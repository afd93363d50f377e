// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.server;

import io.micronaut.core.convert.ArgumentConversionContext;
import io.micronaut.core.type.Argument;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.bind.binders.TypedRequestArgumentBinder;
import jakarta.inject.Singleton;
import java.util.Optional;

/** Binds the next of the {@link Subjects} to a method's argument. */
@Singleton
final class CallerBinder implements TypedRequestArgumentBinder<Caller> {

  private final Subjects subjects;

  CallerBinder(Subjects subjects) {
    this.subjects = subjects;
  }

  @Override
  public Argument<Caller> argumentType() {
    return Argument.of(Caller.class);
  }

  @Override
  public BindingResult<Caller> bind(
      ArgumentConversionContext<Caller> context, HttpRequest<?> request) {
    Optional<Caller> caller = subjects.next().map(Caller::new);
    return () -> caller;
  }
}
