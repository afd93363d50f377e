// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import io.limiter.idempotency.Submissions.Held;
import io.limiter.idempotency.Submissions.Request;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A request with a key, from the gate to the end of its method and of its response, whichever comes
 * last. It decides how its submission ends. Thread-safe; nothing here blocks.
 */
final class KeyedRequest {

  private static final String ATTRIBUTE = "io.limiter.idempotency.request";

  /** Whose turn it is to end the submission. */
  private enum Phase {
    /** The method has not begun. */
    ARRIVING,
    /** The method runs. */
    RUNNING,
    /** The method has returned; its response is on the way through the filters. */
    RETURNED,
    /** The submission has its end. */
    ENDED
  }

  private final Terms terms;
  private final Request request;

  // Guarded by this object.
  private Phase phase = Phase.ARRIVING;
  private boolean isAnswered;
  private @Nullable Held held;
  private @Nullable StoredAnswer repeated;

  KeyedRequest(Terms terms, Request request) {
    this.terms = terms;
    this.request = request;
  }

  static Optional<KeyedRequest> of(HttpRequest<?> http) {
    return http.getAttribute(ATTRIBUTE, KeyedRequest.class);
  }

  void attachTo(HttpRequest<?> http) {
    http.setAttribute(ATTRIBUTE, this);
  }

  Terms terms() {
    return terms;
  }

  Request request() {
    return request;
  }

  /** Its submission is claimed. If the request is over by then, the key is free again. */
  void claimed(Held claim) {
    boolean isOver;
    synchronized (this) {
      held = claim;
      isOver = isAnswered;
    }
    if (isOver) {
      claim.abandon();
    }
  }

  synchronized boolean isClaimed() {
    return held != null;
  }

  synchronized void bodyRead(byte[] fingerprint) {
    if (held != null) {
      held.bodyRead(fingerprint);
    }
  }

  /** The stored response is to be sent in place of that which the filters have made. */
  synchronized void repeat(StoredAnswer answer) {
    repeated = answer;
  }

  synchronized @Nullable StoredAnswer repeated() {
    return repeated;
  }

  /**
   * The method is about to begin. False if it must not: the claim may be lost, or the request is
   * over.
   */
  synchronized boolean enter() {
    if (held == null || phase != Phase.ARRIVING || isAnswered || !held.enter()) {
      return false;
    }
    phase = Phase.RUNNING;
    return true;
  }

  /** The method has returned a result, or its stage or {@code Mono} has. */
  void returned(@Nullable Object result) {
    boolean releases = releases(result);
    End end = null;
    synchronized (this) {
      if (phase != Phase.RUNNING) {
        return;
      }
      phase = Phase.RETURNED;
      if (releases) {
        end = End.RELEASE;
      } else if (isAnswered || !terms.repeats()) { // the client has another response, or needs none
        end = End.DONE;
      }
      phase = end == null ? Phase.RETURNED : Phase.ENDED;
    }
    if (end != null) {
      end(end);
    }
  }

  /** The server makes a response of a status, too, and of what an {@code Optional} holds. */
  private boolean releases(@Nullable Object result) {
    Object value = result instanceof Optional<?> optional ? optional.orElse(null) : result;
    return value instanceof HttpResponse<?> response
        ? terms.releases(response.code())
        : value instanceof HttpStatus status && terms.releases(status.getCode());
  }

  /** The method has failed: it may run again. */
  void threw() {
    endIfRunning(End.RELEASE);
  }

  /** The method was cancelled: how much of it has run is not known. */
  void cancelled() {
    endIfRunning(End.DONE);
  }

  private void endIfRunning(End how) {
    synchronized (this) {
      if (phase != Phase.RUNNING) {
        return;
      }
      phase = Phase.ENDED;
    }
    end(how);
  }

  private void end(End how) {
    Held claim;
    synchronized (this) {
      claim = held;
    }
    if (claim != null) {
      claim.end(how);
    }
  }

  /**
   * The client gets a response. Returns the claim if that is the method's, so that the caller ends
   * it with the response.
   */
  @Nullable Held answered() {
    Held unused;
    synchronized (this) {
      isAnswered = true;
      if (phase == Phase.RUNNING && !terms.seesMethod()) {
        phase = Phase.RETURNED;
      }
      if (phase == Phase.RETURNED) {
        phase = Phase.ENDED;
        return held;
      }
      unused = phase == Phase.ARRIVING ? held : null;
    }
    if (unused != null) {
      unused.abandon();
    }
    return null;
  }

  /** Whether the client has got a response, or has left. */
  synchronized boolean isAnswered() {
    return isAnswered;
  }

  /** The request is over: what has not come to the client by now never will. */
  void over() {
    Held returned = answered();
    if (returned != null) {
      returned.end(End.DONE);
    }
  }
}
