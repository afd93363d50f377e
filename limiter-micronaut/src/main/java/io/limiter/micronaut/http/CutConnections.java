// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.micronaut.call.RequestDecision;
import io.limiter.micronaut.thread.CallerThreads;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpVersion;
import jakarta.inject.Singleton;
import java.util.Optional;

/**
 * Gives up requests whose connection was closed before their body was there. Micronaut says so of
 * HTTP/1.1, and of a stream that is reset, but of a connection of many streams it says nothing: its
 * requests would wait for their bodies for ever, and hold their places meanwhile.
 */
@Singleton
final class CutConnections {

  private static final String ATTRIBUTE = "io.limiter.cut";

  private final CallerThreads threads;

  CutConnections(CallerThreads threads) {
    this.threads = threads;
  }

  /** Gives up the call of an admitted request once its connection is closed. */
  void watch(HttpRequest<?> request, RequestDecision ticket) {
    if (request.getHttpVersion() == HttpVersion.HTTP_2_0) {
      request.setAttribute(ATTRIBUTE, threads.onGone(Optional.of(request), ticket::cutOff));
    }
  }

  /** The request is over. */
  static void forget(HttpRequest<?> request) {
    if (request.getHttpVersion() == HttpVersion.HTTP_2_0
        && request.getAttribute(ATTRIBUTE).orElse(null) instanceof Runnable forget) {
      forget.run();
    }
  }
}
