// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.core.Claim;
import io.limiter.core.Outcome;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.Submission;
import io.limiter.core.Verdict;
import io.limiter.core.resilience.Fallback;
import io.limiter.core.util.LogThrottle;
import io.limiter.core.util.Sha256;
import io.limiter.micronaut.call.AdmissionControl;
import io.limiter.micronaut.call.KeyComparison;
import io.limiter.micronaut.call.LimitedCall;
import io.limiter.micronaut.call.SubmissionClaims;
import io.limiter.micronaut.call.SubmissionClaims.HeldClaim;
import io.limiter.micronaut.call.SubmissionClaims.Result;
import io.limiter.micronaut.config.LimiterConfiguration.IdempotencyConfiguration;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.limiter.micronaut.denial.Rejections;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.exception.InvalidCallException.InvalidIdempotencyKeyException;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.limiter.micronaut.http.GateFilter.SubmittingCall;
import io.limiter.micronaut.plan.DuplicateGuard;
import io.limiter.micronaut.plan.DuplicateGuard.Replay;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.PlanRegistry;
import io.limiter.micronaut.subject.IdempotencyKey;
import io.limiter.micronaut.subject.RequestSubjects;
import io.limiter.micronaut.thread.CallerThreads.CallContext;
import io.micronaut.context.BeanProvider;
import io.micronaut.context.event.ApplicationEventListener;
import io.micronaut.context.event.StartupEvent;
import io.micronaut.core.annotation.Internal;
import io.micronaut.http.HttpHeaders;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpRequestWrapper;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.ServerHttpRequest;
import io.micronaut.http.body.ByteBody;
import io.micronaut.http.body.CloseableByteBody;
import io.micronaut.http.body.MessageBodyHandlerRegistry;
import io.micronaut.web.router.RouteAttributes;
import jakarta.inject.Singleton;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.publisher.Flux;

/**
 * Repeats the answers of routes whose submissions have an {@code Idempotency-Key}. The gate claims
 * a submission behind security and before it decides, so that a repetition is answered before any
 * limit counts it. The response filter keeps the answer, inside of compression and before it writes
 * header fields.
 */
@Internal
@Singleton
final class Replays {

  private static final Logger LOG = LoggerFactory.getLogger(Replays.class);

  /** An attribute of a request whose answer is to be kept: its {@link HeldClaim}. */
  static final String CLAIM = "io.limiter.claim";

  /** Seconds after which a client may ask again for an answer that was not there in time. */
  private static final String RETRY_AFTER = "1";

  private final PlanRegistry plans;
  private final PoliciesConfiguration settings;
  private final IdempotencyConfiguration idempotency;
  private final RequestSubjects subjects;
  private final BeanProvider<SubmissionClaims> claims;
  private final KeyComparison comparison;
  private final AdmissionControl admission;
  private final DirectDenials denials;
  private final Rejections rejections;
  private final Optional<MessageBodyHandlerRegistry> writers;
  private final List<SubmissionClaims.Listener> listeners;
  private final LogThrottle failures = new LogThrottle();
  private final LogThrottle unkept = new LogThrottle();

  Replays(
      PlanRegistry plans,
      PoliciesConfiguration settings,
      IdempotencyConfiguration idempotency,
      RequestSubjects subjects,
      BeanProvider<SubmissionClaims> claims,
      KeyComparison comparison,
      AdmissionControl admission,
      DirectDenials denials,
      Rejections rejections,
      Optional<MessageBodyHandlerRegistry> writers,
      List<SubmissionClaims.Listener> listeners) {
    this.plans = plans;
    this.settings = settings;
    this.idempotency = idempotency;
    this.subjects = subjects;
    this.claims = claims;
    this.comparison = comparison;
    this.admission = admission;
    this.denials = denials;
    this.rejections = rejections;
    this.writers = writers;
    this.listeners = List.copyOf(listeners);
  }

  /** Whether submissions of a route are claimed, or compared with earlier ones under their keys. */
  boolean handles(LimitPlan whole) {
    return whole.replay().isPresent()
        || (whole.deniesKeys() && idempotency.compare() && !whole.beforeSecurity());
  }

  /**
   * Claims the submission of a request, or compares it if its answer is not repeated: together with
   * the decision on its call if the gate makes the only one, else before all decisions.
   *
   * @param whole the plan of its route, which this {@linkplain #handles handles}
   * @param call the call, if the gate makes the only decision
   * @param enter goes on with the first request of a submission, and with one without a key
   */
  CompletionStage<Optional<MutableHttpResponse<?>>> claim(
      HttpRequest<?> request,
      LimitPlan whole,
      @Nullable SubmittingCall call,
      Supplier<CompletionStage<Optional<MutableHttpResponse<?>>>> enter) {
    if (whole.replay().isEmpty()) {
      return compare(request, call, enter);
    }
    DuplicateGuard guard = whole.replay().get();
    Replay replay = guard.replay().orElseThrow();
    Optional<String> key = key(request, guard);
    if (key.isEmpty()) {
      return enter.get();
    }
    if (hasParts(request)) {
      return CompletableFuture.completedFuture(
          reject(request, HttpStatus.UNSUPPORTED_MEDIA_TYPE, "idempotent_request_multipart"));
    }
    StateKey name =
        guard.answers(subjects.resolve(guard.submitter(), request), whole.method(), key.get());
    CallContext context = CallContext.current();
    return fingerprint(request)
        .thenCompose(
            digest ->
                digest.length == 0
                    ? CompletableFuture.completedFuture(
                        reject(
                            request,
                            HttpStatus.REQUEST_ENTITY_TOO_LARGE,
                            "idempotent_request_too_large"))
                    : claim(
                        new Submitted(
                            request,
                            whole,
                            replay,
                            submission(name, digest, replay),
                            Optional.ofNullable(call),
                            context),
                        enter));
  }

  /**
   * Decides a call unless its key was used for another request, or leaves that to the guard. Which
   * guard applies to the caller, and whether the key is valid, is known once the call is charged.
   */
  private CompletionStage<Optional<MutableHttpResponse<?>>> compare(
      HttpRequest<?> request,
      @Nullable SubmittingCall call,
      Supplier<CompletionStage<Optional<MutableHttpResponse<?>>>> enter) {
    if (!request.getHeaders().contains(IdempotencyKey.HEADER) || hasParts(request)) {
      return enter.get(); // each time its parts are separated by other bytes
    }
    if (call == null) {
      return enter.get().thenCompose(denied -> handOver(request, denied));
    }
    return fingerprint(request)
        .thenCompose(
            digest ->
                digest.length == 0 ? enter(call.context(), enter) : compare(request, call, digest));
  }

  /** Leaves the digest to the guard, once the early limits are decided: they need no body. */
  private CompletionStage<Optional<MutableHttpResponse<?>>> handOver(
      HttpRequest<?> request, Optional<MutableHttpResponse<?>> denied) {
    return denied.isPresent()
        ? CompletableFuture.completedFuture(denied)
        : fingerprint(request)
            .thenApply(
                digest -> {
                  if (digest.length > 0) {
                    KeyComparison.handOver(request, digest);
                  }
                  return denied;
                });
  }

  private CompletionStage<Optional<MutableHttpResponse<?>>> compare(
      HttpRequest<?> request, SubmittingCall call, byte[] digest) {
    return call.submit((store, charges) -> comparison.decide(store, charges, digest))
        .thenApply(
            denied ->
                denied.isPresent() || call.isDecided() ? denied : reused(request, call.whole()));
  }

  private Optional<MutableHttpResponse<?>> reused(HttpRequest<?> request, LimitPlan plan) {
    report(plan, Result.DIFFERENT);
    return reject(request, HttpStatus.UNPROCESSABLE_ENTITY, "idempotency_key_reused");
  }

  private static CompletionStage<Optional<MutableHttpResponse<?>>> enter(
      CallContext context, Supplier<CompletionStage<Optional<MutableHttpResponse<?>>>> enter) {
    return context.propagated().propagate(enter);
  }

  private static Submission submission(StateKey name, byte[] digest, Replay replay) {
    Submission submission = new Submission(name, digest, replay.claim());
    return replay.charge().isPresent() ? submission.charged() : submission;
  }

  /**
   * A request with the submission that it makes.
   *
   * @param call that of the request, if the gate makes the only decision
   */
  private record Submitted(
      HttpRequest<?> request,
      LimitPlan plan,
      Replay replay,
      Submission submission,
      Optional<SubmittingCall> call,
      CallContext context) {

    /** A repetition is answered, or waits in vain. */
    void repeated() {
      if (replay.charge().isPresent()) {
        call.ifPresent(SubmittingCall::charge);
      }
    }
  }

  private CompletionStage<Optional<MutableHttpResponse<?>>> claim(
      Submitted submitted, Supplier<CompletionStage<Optional<MutableHttpResponse<?>>>> enter) {
    if (submitted.call().isEmpty()) {
      return claim(submitted, from -> from.claim(submitted.replay(), submitted.submission()))
          .thenCompose(answer -> enterUnless(answer, submitted, enter));
    }
    SubmittingCall call = submitted.call().get();
    return call.submit(submitted.submission())
        .thenCompose(
            denied -> {
              if (denied.isPresent() || call.isClaimed()) {
                return CompletableFuture.completedFuture(denied);
              }
              Optional<Claim> found = call.found();
              return claim(
                      submitted,
                      from ->
                          found.isPresent()
                              ? from.await(submitted.replay(), submitted.submission(), found.get())
                              : from.claim(submitted.replay(), submitted.submission()))
                  .thenCompose(
                      answer ->
                          call.isDecided()
                              ? CompletableFuture.completedFuture(call.end(answer))
                              : enterUnless(answer, submitted, enter));
            });
  }

  private static CompletionStage<Optional<MutableHttpResponse<?>>> enterUnless(
      Optional<MutableHttpResponse<?>> answer,
      Submitted submitted,
      Supplier<CompletionStage<Optional<MutableHttpResponse<?>>>> enter) {
    return answer.isPresent()
        ? CompletableFuture.completedFuture(answer)
        : enter(submitted.context(), enter);
  }

  private static boolean hasParts(HttpRequest<?> request) {
    return request.getContentType().filter(type -> type.getType().equals("multipart")).isPresent();
  }

  private static Optional<String> key(HttpRequest<?> request, DuplicateGuard guard) {
    Optional<String> key = IdempotencyKey.of(request);
    if (key.isEmpty()
        && guard.submission() instanceof DuplicateGuard.Submission.ByIdempotencyKey by
        && by.required()) {
      throw InvalidIdempotencyKeyException.missing();
    }
    return key;
  }

  private Optional<MutableHttpResponse<?>> reject(
      HttpRequest<?> request, HttpStatus status, String code) {
    return Optional.of(rejections.submission(request, status, code));
  }

  /**
   * A digest of the method, the path, the query and the raw body: what a repetition must have, too.
   * Empty if the body is too large. The route reads the same bytes afterwards.
   */
  private CompletableFuture<byte[]> fingerprint(HttpRequest<?> request) {
    MessageDigest digest = Sha256.digest();
    digest.update(
        (request.getMethodName() + ' ' + request.getUri().toASCIIString() + '\n')
            .getBytes(StandardCharsets.US_ASCII));
    HttpRequest<?> innermost = request;
    while (innermost instanceof HttpRequestWrapper<?> wrapper) {
      innermost = wrapper.getDelegate();
    }
    if (!(innermost instanceof ServerHttpRequest<?> received)) {
      throw new IllegalStateException(
          "%s shows no bytes of a request, so answers cannot be repeated on this server"
              .formatted(innermost.getClass().getName()));
    }
    ByteBody body = received.byteBody();
    if (body.expectedLength().orElse(0) > idempotency.maxBody()) {
      return CompletableFuture.completedFuture(new byte[0]);
    }
    long[] length = {0};
    CloseableByteBody copy = body.split(ByteBody.SplitBackpressureMode.FASTEST);
    return Flux.from(copy.toByteArrayPublisher())
        .takeUntil(
            bytes -> {
              length[0] += bytes.length;
              digest.update(bytes);
              return length[0] > idempotency.maxBody();
            })
        .then()
        .toFuture()
        .thenApply(all -> length[0] > idempotency.maxBody() ? new byte[0] : digest.digest());
  }

  /**
   * Goes on with a claim: completes with the response, or with none if the submission is claimed,
   * on the thread of the request.
   *
   * @param claim claims the submission, or waits for another one
   */
  private CompletionStage<Optional<MutableHttpResponse<?>>> claim(
      Submitted submitted, Function<SubmissionClaims, CompletionStage<Claim>> claim) {
    SubmissionClaims shared = claims.get();
    CompletionStage<Supplier<Optional<MutableHttpResponse<?>>>> found =
        claim
            .apply(shared)
            .<Supplier<Optional<MutableHttpResponse<?>>>>thenApply(
                some -> () -> goOn(submitted, shared, some))
            .exceptionallyCompose(failure -> withoutStore(submitted, failure));
    return admission
        .threads()
        .back(found, Optional.of(submitted.request()), submitted.context())
        .thenApply(Supplier::get);
  }

  private CompletionStage<Supplier<Optional<MutableHttpResponse<?>>>> withoutStore(
      Submitted submitted, Throwable failure) {
    HttpRequest<?> request = submitted.request();
    LimitPlan plan = submitted.plan();
    Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
    if (!(cause instanceof StoreException)) {
      return CompletableFuture.failedFuture(failure);
    }
    Fallback fallback = settings.fallbacks(Fallback.DENY).apply(plan.policy());
    failures.report(
        LOG,
        "Submissions with an Idempotency-Key cannot be claimed, since the store does not answer: %s decides"
            .formatted(fallback),
        cause);
    report(plan, Result.UNAVAILABLE);
    return switch (fallback) {
      case DENY -> CompletableFuture.completedFuture(() -> deny(request, plan));
      case ALLOW -> CompletableFuture.completedFuture(Optional::empty);
      case LOCAL -> {
        SubmissionClaims local = claims.get().local();
        yield local
            .claim(submitted.replay(), submitted.submission())
            .thenApply(claim -> () -> goOn(submitted, local, claim));
      }
    };
  }

  private Optional<MutableHttpResponse<?>> deny(HttpRequest<?> request, LimitPlan plan) {
    LimitDeniedException denial =
        LimitDeniedException.of(
            Verdict.of(plan.policy(), Outcome.UNAVAILABLE).build(), DenialText.NONE);
    Optional<MutableHttpResponse<?>> response = denials.respond(request, denial);
    if (response.isEmpty()) {
      throw denial; // which the application answers
    }
    return response;
  }

  /** The submission is claimed with the decision on its call. */
  void claimed(HttpRequest<?> request, LimitPlan plan, Claim claim) {
    Replay replay = plan.replay().flatMap(DuplicateGuard::replay).orElseThrow();
    hold(request, plan, claims.get().hold(claim, replay, () -> report(plan, Result.LOST)));
  }

  private void hold(HttpRequest<?> request, LimitPlan plan, HeldClaim held) {
    report(plan, Result.FIRST);
    request.setAttribute(CLAIM, held);
  }

  private Optional<MutableHttpResponse<?>> goOn(
      Submitted submitted, SubmissionClaims from, Claim claim) {
    HttpRequest<?> request = submitted.request();
    LimitPlan plan = submitted.plan();
    return switch (claim.state()) {
      case CLAIMED -> {
        hold(request, plan, from.hold(claim, submitted.replay(), () -> report(plan, Result.LOST)));
        yield Optional.empty();
      }
      case ANSWERED -> {
        submitted.repeated();
        Optional<StoredAnswer> stored = from.answer(claim).flatMap(StoredAnswer::of);
        report(plan, stored.isPresent() ? Result.REPLAYED : Result.UNREADABLE);
        Optional<MutableHttpResponse<?>> answer = stored.flatMap(StoredAnswer::response);
        yield answer.isPresent()
            ? answer
            : reject(request, HttpStatus.CONFLICT, "idempotent_answer_unavailable");
      }
      case DIFFERENT -> reused(request, plan);
      case RUNNING -> {
        submitted.repeated();
        report(plan, Result.RUNNING);
        Optional<MutableHttpResponse<?>> rejected =
            reject(request, HttpStatus.CONFLICT, "idempotency_key_in_use");
        rejected.ifPresent(response -> response.header(HttpHeaders.RETRY_AFTER, RETRY_AFTER));
        yield rejected;
      }
    };
  }

  private void report(LimitPlan plan, Result result) {
    listeners.forEach(listener -> listener.claimed(Optional.of(plan), result));
  }

  /** Keeps the answer before the client has it, so that a repetition finds it. */
  CompletionStage<MutableHttpResponse<?>> keep(
      HeldClaim held, HttpRequest<?> request, MutableHttpResponse<?> response) {
    CompletionStage<Boolean> ended =
        isKept(request, response, held.replay())
            ? held.answer(stored(request, response).bytes())
            : held.release();
    CompletableFuture<Boolean> settled =
        ended
            .toCompletableFuture()
            .exceptionally(
                failure -> {
                  failures.report(
                      LOG,
                      "An answer could not be kept, or its claim not be freed, so the claim ends by itself",
                      failure);
                  return false;
                });
    return admission.threads().back(settled, Optional.of(request)).thenApply(done -> response);
  }

  /** A body that cannot be encoded becomes a 500. */
  private boolean isKept(HttpRequest<?> request, MutableHttpResponse<?> response, Replay replay) {
    return replay.keeps(response.code())
        && RouteAttributes.getException(response).isEmpty()
        && LimitedCall.of(request).filter(LimitedCall::isDenied).isEmpty()
        && EncodedBody.encode(request, response, writers, true, null)
            != EncodedBody.Encoding.FAILED;
  }

  private StoredAnswer stored(HttpRequest<?> request, MutableHttpResponse<?> response) {
    Optional<byte[]> body = EncodedBody.bytes(request, response, writers);
    if (body.isEmpty() || body.get().length > idempotency.maxAnswer()) {
      reportUnkept(request, body);
      return StoredAnswer.withoutBody(response.code());
    }
    List<StoredAnswer.Field> fields =
        new ArrayList<>(StoredAnswer.fields(response.getHeaders(), idempotency.headers()));
    if (body.get().length > 0) {
      fields.add(
          new StoredAnswer.Field(
              HttpHeaders.CONTENT_TYPE, EncodedBody.mediaType(request, response).toString()));
    }
    return new StoredAnswer(response.code(), fields, body.get());
  }

  private void reportUnkept(HttpRequest<?> request, Optional<byte[]> body) {
    if (unkept.count() == 0) {
      return;
    }
    LOG.warn(
        "The answer of {} is not kept, so a repetition is answered 409: {}",
        plans.ofRoute(request).map(LimitPlan::method).orElse("a route"),
        body.isEmpty()
            ? "it is a stream or a file"
            : "it has %s bytes, more than limiter.idempotency.max-answer = %s"
                .formatted(body.get().length, idempotency.maxAnswer()));
  }

  /** Creates the store of answers with the application where a route needs it: that may block. */
  @Singleton
  record StoreAtStart(
      PlanRegistry plans, PoliciesConfiguration settings, BeanProvider<SubmissionClaims> claims)
      implements ApplicationEventListener<StartupEvent> {

    @Override
    public void onApplicationEvent(StartupEvent started) {
      if (!settings.current().routes().isEmpty()
          || !plans
              .current()
              .methods(plan -> plan.replay().isPresent() || plan.deniesKeys())
              .isEmpty()) {
        var unused = claims.get();
      }
    }
  }
}
