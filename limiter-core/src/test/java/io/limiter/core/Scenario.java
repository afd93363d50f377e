// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import io.limiter.core.model.ReferenceModel;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.LongConsumer;

/**
 * A timed sequence of calls, generated from a seed.
 *
 * @param seed generates the same scenario again
 */
public record Scenario(long seed, List<Step> steps) {

  /** All keys that the scenario touches. */
  public static List<StateKey> keys(List<Step> steps) {
    return steps.stream()
        .flatMap(step -> request(step.action()).stream())
        .flatMap(request -> request.allCharges().stream())
        .map(Charge::key)
        .distinct()
        .toList();
  }

  private static Optional<LimitRequest> request(Step.Action action) {
    return action instanceof Step.Lease lease
        ? Optional.of(lease.request())
        : action instanceof Step.Decide decide ? Optional.of(decide.request()) : Optional.empty();
  }

  public static long decisions(List<Step> steps) {
    return steps.stream().filter(step -> step.action() instanceof Step.Decide).count();
  }

  /**
   * The answers of a store. The steps do not wait for each other, so that a remote store gets them
   * in one stream. Only refunds and renewals wait for the decision, and later steps wait for
   * renewals, since what they took can be settled at once.
   *
   * @param clock sets the store's clock for the calls that follow
   */
  public static List<Answer> run(List<Step> steps, LimitStore store, LongConsumer clock) {
    return run(steps, store, clock, store::reset);
  }

  /**
   * @param lose removes keys as if they had been evicted, in order with the calls to the store
   */
  public static List<Answer> run(
      List<Step> steps,
      LimitStore store,
      LongConsumer clock,
      Function<List<StateKey>, CompletionStage<?>> lose) {
    Map<Integer, CompletableFuture<Verdict>> verdicts = new HashMap<>();
    Map<Integer, CompletableFuture<LimitStore.Grant>> grants = new HashMap<>();
    Map<Integer, Integer> left = new HashMap<>();
    List<CompletableFuture<? extends Answer>> answers = new ArrayList<>();
    for (Step step : steps) {
      CompletionStage<? extends Answer> answer;
      clock.accept(step.clock());
      if (step.action() instanceof Step.Decide decide) {
        var verdict = store.decide(decide.request(), decide.mode()).toCompletableFuture();
        verdicts.put(step.id(), verdict);
        answer = verdict.thenApply(Answer.Decided::of);
      } else if (step.action() instanceof Step.GiveBack back) {
        Reservation reservation = reservation(verdicts, back.of());
        answer =
            (back.guardOnly() ? reservation.release() : reservation.refund())
                .thenApply(Answer.GivenBack::new);
      } else if (step.action() instanceof Step.Settle settle) {
        clock.accept(step.clock());
        answer =
            reservation(verdicts, settle.of())
                .settle(settle.completion())
                .thenApply(Answer.GivenBack::new);
      } else if (step.action() instanceof Step.Lease lease) {
        var grant =
            store
                .lease(lease.request(), Duration.of(lease.micros(), ChronoUnit.MICROS))
                .toCompletableFuture();
        grants.put(step.id(), grant);
        left.put(step.id(), lease.request().charge(0).cost());
        answer = grant.thenApply(Answer.Leased::of);
      } else if (step.action() instanceof Step.GiveBackLeased back) {
        int units = Math.min(back.units(), left.getOrDefault(back.of(), 0));
        left.merge(back.of(), -units, Integer::sum);
        boolean any = units > 0 && grants.get(back.of()).join().isGranted();
        clock.accept(step.clock());
        answer =
            (any
                    ? grants.get(back.of()).join().giveBack().apply(units)
                    : CompletableFuture.completedFuture(0L))
                .thenApply(Answer.GivenBack::new);
      } else if (step.action() instanceof Step.Renew renew) {
        clock.accept(step.clock());
        long units = reservation(verdicts, renew.of()).renewPermits().toCompletableFuture().join();
        answer = CompletableFuture.completedFuture(new Answer.GivenBack(units));
      } else {
        Step.Reset reset = (Step.Reset) step.action();
        answer =
            (reset.lost() ? lose.apply(reset.keys()) : store.reset(reset.keys()))
                .thenApply(done -> Answer.DONE);
      }
      answers.add(answer.toCompletableFuture());
    }
    return answers.stream().map(Scenario::answer).toList();
  }

  private static Answer answer(CompletableFuture<? extends Answer> answer) {
    try {
      return answer.join();
    } catch (CompletionException failure) {
      return new Answer.Failed(String.valueOf(failure.getCause()));
    }
  }

  private static Reservation reservation(
      Map<Integer, CompletableFuture<Verdict>> verdicts, int step) {
    CompletableFuture<Verdict> verdict = verdicts.get(step);
    return verdict == null
        ? Reservation.NOTHING
        : verdict.handle((known, failure) -> known).join() == null
            ? Reservation.NOTHING
            : verdict.join().reservation();
  }

  /**
   * Fails if the store does not answer as the model does, with the shortest sequence that still
   * differs.
   *
   * @param store runs the steps on a new store
   */
  public void check(Function<List<Step>, List<Answer>> store) {
    check(Scenario::model, store);
  }

  private static List<Object> model(List<Step> steps) {
    ReferenceModel model = new ReferenceModel();
    return steps.stream().map(model::apply).toList();
  }

  /**
   * The same of two stores.
   *
   * @param model runs the steps on the reference
   */
  public void check(
      Function<List<Step>, ? extends List<?>> model, Function<List<Step>, List<Answer>> store) {
    String difference = difference(steps, model, store);
    if (difference.isEmpty()) {
      return;
    }
    List<Step> shrunk = shrink(model, store);
    throw new AssertionError(
        "The store and the model differ with -Dlimiter.seed=%d: %s%nShrunk to %d of %d steps:%n%s%n%s"
            .formatted(
                seed,
                difference,
                shrunk.size(),
                steps.size(),
                String.join("\n", shrunk.stream().map(Step::toString).toList()),
                difference(shrunk, model, store)));
  }

  private static String difference(
      List<Step> steps,
      Function<List<Step>, ? extends List<?>> model,
      Function<List<Step>, List<Answer>> store) {
    List<Answer> answers = store.apply(steps);
    List<?> expected = model.apply(steps);
    for (int i = 0; i < steps.size(); i++) {
      if (!expected.get(i).equals(answers.get(i))) {
        return "at %s%n model: %s%n store: %s"
            .formatted(steps.get(i), expected.get(i), answers.get(i));
      }
    }
    return "";
  }

  /** Leaves out ever smaller parts, as long as what is left still differs. */
  private List<Step> shrink(
      Function<List<Step>, ? extends List<?>> model, Function<List<Step>, List<Answer>> store) {
    List<Step> left = steps;
    for (int part = left.size() / 2; part > 0; part /= 2) {
      for (int from = 0; from < left.size(); ) {
        List<Step> fewer = new ArrayList<>(left.subList(0, from));
        fewer.addAll(left.subList(Math.min(left.size(), from + part), left.size()));
        if (difference(fewer, model, store).isEmpty()) {
          from += part;
        } else {
          left = fewer;
        }
      }
    }
    return left;
  }
}
