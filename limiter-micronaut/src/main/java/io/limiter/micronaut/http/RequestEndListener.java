// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.micronaut.call.RequestDecision;
import io.micronaut.context.event.ApplicationEventListener;
import io.micronaut.http.context.event.HttpRequestTerminatedEvent;
import jakarta.inject.Singleton;
import java.util.Optional;

/**
 * Sees out what no answer has: calls whose answer never came to its filter, or is a stream that
 * nobody subscribed to. Micronaut says so once an answer is written or nobody is there to read it,
 * and not before a method has ended that still runs when its client leaves.
 */
@Singleton
final class RequestEndListener implements ApplicationEventListener<HttpRequestTerminatedEvent> {

  @Override
  public void onApplicationEvent(HttpRequestTerminatedEvent ended) {
    Optional<RequestDecision> ticket = RequestDecision.of(ended.getSource());
    if (ticket.isPresent()) {
      CutConnections.forget(ended.getSource());
      ticket.get().end().gone();
    }
  }
}
