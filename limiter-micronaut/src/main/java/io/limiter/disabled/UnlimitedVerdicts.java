// SPDX-License-Identifier: Apache-2.0
package io.limiter.disabled;

import io.limiter.core.Verdict;
import io.limiter.micronaut.plan.VerdictArguments;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.convert.ArgumentConversionContext;
import io.micronaut.core.type.Argument;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.bind.binders.TypedRequestArgumentBinder;
import jakarta.inject.Singleton;
import java.util.Optional;

/** Routes that ask for the verdict on their calls go on, and are told that all are allowed. */
@Singleton
@Requires(classes = HttpRequest.class)
final class UnlimitedVerdicts implements TypedRequestArgumentBinder<Verdict> {

  @Override
  public Argument<Verdict> argumentType() {
    return Argument.of(Verdict.class);
  }

  @Override
  public BindingResult<Verdict> bind(
      ArgumentConversionContext<Verdict> context, HttpRequest<?> request) {
    return () -> Optional.of(VerdictArguments.unlimited());
  }
}
