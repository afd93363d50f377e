// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.resilience;

import io.limiter.core.Key;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Outcome;
import io.limiter.core.StoreException;
import io.limiter.core.Verdict;
import java.util.Collection;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks the fallback of the request's policy when the store fails. Its verdicts name the {@link
 * io.limiter.core.Source#FALLBACK} and the reason. Nothing is copied between the two: while the
 * store is away every process counts for itself, and when it is back its counts rule. A receipt
 * goes back to the store that wrote it.
 */
public final class FallbackStore implements LimitStore {

  private static final Logger LOG = LoggerFactory.getLogger(FallbackStore.class);

  private final LimitStore store;
  private final LimitStore local;
  private final Fallbacks fallbacks;
  private final FallbackCounts counts;
  private final LimitStore allow = new UndecidedStore(Outcome.ALLOWED);
  private final LimitStore deny = new UndecidedStore(Outcome.UNAVAILABLE);
  private final FailureLog failures = new FailureLog(LOG);

  /** Asks the local store under every policy. */
  public FallbackStore(LimitStore store, LimitStore local) {
    this(store, local, Fallbacks.of(Fallback.LOCAL), new FallbackCounts());
  }

  /**
   * @param local the store that decides where the fallback is {@link Fallback#LOCAL}
   * @param counts is told of every decision that a fallback takes
   */
  public FallbackStore(
      LimitStore store, LimitStore local, Fallbacks fallbacks, FallbackCounts counts) {
    this.store = store;
    this.local = local;
    this.fallbacks = fallbacks;
    this.counts = counts;
  }

  @Override
  public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
    CompletableFuture<Verdict> decided = new CompletableFuture<>();
    asked(request, mode)
        .whenComplete(
            (verdict, failure) -> {
              if (failure == null) {
                decided.complete(verdict);
              } else if (unwrap(failure) instanceof StoreException known) {
                failures.report(known);
                decideWithout(request, mode, known, decided);
              } else {
                decided.completeExceptionally(failure);
              }
            });
    return decided;
  }

  /** A store of somebody else's may throw what it should have completed its stage with. */
  private CompletionStage<Verdict> asked(LimitRequest request, Mode mode) {
    try {
      return store.decide(request, mode);
    } catch (StoreException thrown) {
      return CompletableFuture.failedFuture(thrown);
    }
  }

  private void decideWithout(
      LimitRequest request, Mode mode, StoreException failure, CompletableFuture<Verdict> decided) {
    Fallback fallback = fallbacks.of(request.policy());
    counts.count(fallback, failure.reason());
    try {
      store(fallback)
          .decide(request, mode)
          .whenComplete(
              (verdict, second) -> {
                if (second != null) {
                  decided.completeExceptionally(second);
                } else if (verdict == null) {
                  decided.completeExceptionally(
                      new IllegalStateException("The fallback " + fallback + " gave no verdict"));
                } else {
                  decided.complete(verdict.fromFallback(failure));
                }
              });
    } catch (RuntimeException broken) { // or the caller would wait for ever
      decided.completeExceptionally(broken);
    }
  }

  private LimitStore store(Fallback fallback) {
    return switch (fallback) {
      case LOCAL -> local;
      case ALLOW -> allow;
      case DENY -> deny;
    };
  }

  /** Resets both; fails if the store does. */
  @Override
  public CompletionStage<Void> reset(Collection<Key> keys) {
    return local.reset(keys).thenCompose(done -> store.reset(keys));
  }

  private static Throwable unwrap(Throwable failure) {
    return failure instanceof CompletionException && failure.getCause() != null
        ? failure.getCause()
        : failure;
  }

  @Override
  public void close() {
    try (local) {
      store.close();
    }
  }
}
