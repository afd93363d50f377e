// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Answer;
import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Outcome;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Scenario;
import io.limiter.core.ScenarioGenerator;
import io.limiter.core.StateKey;
import io.limiter.core.Step;
import io.limiter.core.Verdict;
import io.limiter.core.denycache.DenyCache;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.store.DelegatingStore;
import io.limiter.core.testing.Seeds;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Random mixed stacks, decided with and without the cache. Nothing is given back or reset in these
 * scenarios, and no policy changes: then outcomes must be the same, and no retry-after may be too
 * long. {@link Seeds} selects the stacks.
 */
@Tag("matrix")
class DenyCacheDifferentialTest {

  private static final int DECISIONS = 200_000;

  /** With fewer decisions the number of cached ones is not predictable. */
  private static final long MANY = 100_000;

  private static final long NEVER_EXPIRE = Long.MAX_VALUE / 4;

  private long remembered;

  @Test
  void aCallIsAnsweredAsTheStoreWouldAnswerIt() {
    long done = Seeds.forEach(DECISIONS, this::check);
    assertThat(done < MANY || remembered > done / 100).as("many are remembered").isTrue();
    System.out.printf("Deny cache: %d of %d decisions were remembered%n", remembered, done);
  }

  private long check(long seed) {
    List<Step> steps = decisions(ScenarioGenerator.scenario(seed).steps());
    List<CallerView> cached = answers(steps, true);
    List<CallerView> asked = answers(steps, false);
    for (int i = 0; i < steps.size(); i++) {
      String call = "-Dlimiter.seed=%d, %s".formatted(seed, steps.get(i));
      assertThat(cached.get(i).outcome()).as(call).isEqualTo(asked.get(i).outcome());
      assertThat(cached.get(i).ban()).as(call).isEqualTo(asked.get(i).ban());
      // Calls of other costs may have taken more under the same limit key in the meantime.
      assertThat(cached.get(i).retryAfter())
          .as(call)
          .isLessThanOrEqualTo(asked.get(i).retryAfter());
    }
    return steps.size();
  }

  private static List<Step> decisions(List<Step> steps) {
    AtomicLong latest = new AtomicLong();
    Map<StateKey, RuleStack> first = new HashMap<>();
    return steps.stream()
        .filter(
            step ->
                step.action() instanceof Step.Decide decide
                    && decide.request().allCharges().stream()
                        .allMatch(
                            charge ->
                                first
                                    .computeIfAbsent(charge.key(), key -> charge.stack())
                                    .equals(charge.stack())))
        .map(
            step ->
                new Step(
                    step.id(),
                    latest.updateAndGet(time -> Math.max(time, step.clock())),
                    step.action()))
        .toList();
  }

  private List<CallerView> answers(List<Step> steps, boolean cached) {
    AtomicLong clock = new AtomicLong();
    try (MemoryStore store = new MemoryStore(10_000, clock::get, NEVER_EXPIRE)) {
      DenyCache cache =
          new DenyCache(
              store,
              policy -> true,
              DenyCache.DEFAULT_SIZE,
              DenyCache.MAX_AGE,
              () -> 1_000 * clock.get());
      return Scenario.run(steps, cached ? new Counted(cache) : store, clock::set).stream()
          .map(answer -> CallerView.by((Answer.Decided) answer))
          .toList();
    }
  }

  /** The part of a verdict on which callers rely. */
  private record CallerView(Outcome outcome, Duration retryAfter, Optional<Duration> ban) {

    static CallerView by(Answer.Decided decided) {
      return new CallerView(
          decided.outcome(),
          decided.rules().stream()
              .filter(RuleVerdict::denies)
              .flatMap(rule -> rule.retryAfter().stream())
              .max(Comparator.naturalOrder())
              .orElse(Duration.ZERO),
          decided.ban());
    }
  }

  /** Counts cached verdicts, so that the test cannot pass without a cache. */
  private final class Counted extends DelegatingStore {
    Counted(LimitStore store) {
      super(store);
    }

    @Override
    public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
      return store
          .decide(request, mode)
          .thenApply(
              verdict -> {
                remembered += verdict.decidedBy() == DecidedBy.DENY_CACHE ? 1 : 0;
                return verdict;
              });
    }
  }
}
