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

/** Binds an admitted verdict to arguments of type {@link Verdict} while the limiter is disabled. */
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
