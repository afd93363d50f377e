// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metrics;

import io.limiter.core.Verdict;
import io.limiter.micronaut.call.AdmissionControl.VerdictListener;
import io.limiter.micronaut.call.ArrivingCall;
import io.limiter.micronaut.metrics.LimiterMeters.TagValues;
import io.micronaut.context.annotation.Requires;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.Span;
import jakarta.inject.Singleton;
import java.util.function.Supplier;

/** Writes the latest decision of a call into the span in which the call is made. */
@Singleton
@Requires(classes = Span.class)
final class SpanAttributes implements VerdictListener {

  private static final AttributeKey<String> POLICY = AttributeKey.stringKey("limiter.policy");
  private static final AttributeKey<String> OUTCOME = AttributeKey.stringKey("limiter.outcome");
  private static final AttributeKey<String> DECIDED_BY =
      AttributeKey.stringKey("limiter.decided_by");

  /** Not made by the first call. */
  private static final Supplier<Span> CURRENT = Span::current;

  @Override
  public void decided(ArrivingCall<?> call, Verdict verdict) {
    Span span = call.context().propagated().propagate(CURRENT);
    if (span.isRecording()) {
      span.setAttribute(POLICY, call.plan().named(verdict).policy().name());
      span.setAttribute(OUTCOME, TagValues.of(verdict.outcome()));
      span.setAttribute(DECIDED_BY, TagValues.of(verdict.decidedBy()));
    }
  }
}
