// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.LeakyBucket;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.ResultCost;
import io.limiter.micronaut.annotation.StreamBudget;
import io.limiter.micronaut.annotation.StreamEnd;
import io.limiter.micronaut.annotation.TokenBucket;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpResponse;
import jakarta.inject.Singleton;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;

/** A cost that no call could pay, and an outcome that cannot be seen, stop the start. */
class ChargeMistakesTest extends MistakesContract {

  private static final String BOUNDS =
      "set it to 1 to 1000000000, or to an expression over the arguments, such as \"#";
  private static final String REMEDY =
      "the method returns java.util.concurrent.Future<java.lang.String>, which does not show when a call ends: return a CompletionStage or a Publisher";

  @Mistaken
  static class Costs {

    @Mistake({"@RateLimiter.cost = 0", BOUNDS, "{count}\""})
    @RateLimiter(cost = "0", rules = @RateRule)
    void costZero() {}

    @Mistake({"@RateLimiter.cost = 1000000001", BOUNDS})
    @RateLimiter(cost = "1000000001", rules = @RateRule)
    void costTooLarge() {}

    @Mistake({"@RateLimiter.cost = five", BOUNDS})
    @RateLimiter(cost = "five", rules = @RateRule)
    void costWord() {}

    @Mistake(
        "@RateLimiter.cost = 5: the rule '4-per-60s' admits 4 at once, so no call could ever be admitted: lower the cost, or raise its count")
    @RateLimiter(cost = "5", rules = @RateRule)
    @RateRule(count = 4)
    void costAboveCount() {}

    @Mistake({
      "@RateLimiter.cost = 5: the rule '4-at-4-per-60s' admits 4 at once",
      "lower the cost, or raise its count"
    })
    @RateLimiter(cost = "5", rules = @RateRule(count = 4, tokenBucket = @TokenBucket(refill = 4)))
    void costAboveCapacity() {}

    @Mistake({
      "@RateLimiter.cost = 5: the rule '3-per-60s' admits 3 at once",
      "lower the cost, or raise its count"
    })
    @RateLimiter(
        header = "X-Api-Key",
        cost = "5",
        rules = @RateRule,
        anonymousRules = @RateRule(count = 3))
    void costAboveAnonymousCount() {}

    @Mistake("@RateLimiter.cost = 5: there is no rule to take it from: add rules, or remove it")
    @RateLimiter(cost = "5", preventDuplicate = true)
    void costOfNothing() {}

    @Mistake(
        "@RateLimiter.cost = 2: other rules of this method count the same subject with cost = 5: use one cost for all of them, or a separate key for some")
    @RateLimiter(cost = "5", rules = @RateRule(count = 10))
    @RateLimiter(cost = "2", rules = @RateRule(count = 20))
    void twoCosts() {}
  }

  @Mistaken
  @RateRule(count = 100)
  static class CostOnlyOnTheMethod {
    @Mistake({
      "@RateLimiter.cost = 1: other rules of this method count the same subject with cost = #",
      "{n}",
      "use one cost for all of them, or a separate key for some"
    })
    @RateLimiter(cost = "#{n}", rules = @RateRule(count = 10))
    void call(int n) {}
  }

  @Mistaken
  static class ResultCosts {

    @Mistake({
      "@RateLimiter.resultCost = ",
      "$Units",
      "a call takes its units before its result is known: write cost = \"…\", an estimate"
    })
    @RateLimiter(resultCost = Units.class, rules = @RateRule)
    void resultCostWithoutCost() {}

    @Mistake({"@RateLimiter.resultCost = ", "no rule takes a cost"})
    @RateLimiter(
        resultCost = Units.class,
        rules = @RateRule(algorithm = Algorithm.CONCURRENCY_LIMIT))
    void resultCostInFlight() {}

    @Mistake({
      "@RateLimiter.resultCost = ",
      "$Units",
      "the method streams, and takes units while it runs, which the rule '10-per-60s' does not allow, since it counts by outcome: move the rule to a @RateLimiter with a name of its own"
    })
    @RateLimiter(cost = "5", resultCost = Units.class, rules = @RateRule(counts = Counts.FAILURES))
    Flux<String> itemsByOutcome() {
      return Flux.empty();
    }

    @Mistake({"@RateLimiter.resultCost = ", "since it makes calls wait: move the rule"})
    @RateLimiter(
        cost = "5",
        resultCost = Units.class,
        rules = @RateRule(leakyBucket = @LeakyBucket(queue = 10)))
    Flux<String> itemsThatWait() {
      return Flux.empty();
    }

    @Mistake(
        "@RateLimiter.stream = @StreamBudget: the method returns io.micronaut.http.HttpResponse<java.lang.String>, which is no stream: return a Publisher, or remove it")
    @RateLimiter(
        cost = "5",
        resultCost = Units.class,
        stream = @StreamBudget(end = StreamEnd.CUT),
        rules = @RateRule)
    HttpResponse<String> streamOfNone() {
      return HttpResponse.ok();
    }

    @RateLimiter(
        cost = "5",
        resultCost = Units.class,
        stream = @StreamBudget(end = StreamEnd.CUT),
        rules = @RateRule)
    HttpResponse<?> perhapsAStream() {
      return HttpResponse.ok();
    }

    @RateLimiter(cost = "5", resultCost = Units.class, rules = @RateRule(counts = Counts.FAILURES))
    HttpResponse<?> perhapsAStreamByOutcome() {
      return HttpResponse.ok();
    }

    @Mistake({"@RateLimiter.resultCost = ", "since it counts by outcome: move the rule"})
    @RateLimiter(
        cost = "5",
        resultCost = Units.class,
        stream = @StreamBudget,
        rules = @RateRule(counts = Counts.FAILURES))
    CompletionStage<HttpResponse<Publisher<String>>> itemsInAResponseByOutcome() {
      return CompletableFuture.completedFuture(HttpResponse.ok());
    }

    @Mistake({
      "@RateLimiter.resultCost = ",
      "the method returns a Publisher of responses, of which the server sends one: return a Mono of it, or annotate the method with @SingleResult"
    })
    @RateLimiter(cost = "5", resultCost = Units.class, rules = @RateRule)
    Flux<HttpResponse<String>> responses() {
      return Flux.empty();
    }

    @Mistake({
      "@RateLimiter.resultCost = ",
      "the method returns java.util.Optional<java.util.concurrent.CompletionStage<java.lang.String>>, which does not show when a call ends: return a CompletionStage or a Publisher, or write a cost alone"
    })
    @RateLimiter(cost = "5", resultCost = Units.class, rules = @RateRule)
    Optional<CompletionStage<String>> stageInside() {
      return Optional.empty();
    }

    @Mistake("@RateLimiter.stream.step = 1000000001: set it to 1 to 1000000000")
    @RateLimiter(
        cost = "5",
        resultCost = Units.class,
        stream = @StreamBudget(step = 1_000_000_001),
        rules = @RateRule)
    Flux<String> longStep() {
      return Flux.empty();
    }

    @Mistake(
        "@RateLimiter.stream.step = 11: the rule '10-per-60s' admits 10 at once, so no call could ever be admitted: lower the step, or raise its count")
    @RateLimiter(
        cost = "5",
        resultCost = Units.class,
        stream = @StreamBudget(step = 11),
        rules = @RateRule)
    Flux<String> stepAboveCount() {
      return Flux.empty();
    }

    @Mistake(
        "@RateLimiter.stream = @StreamBudget: it has no effect without a resultCost: add one, or remove it")
    @RateLimiter(cost = "5", stream = @StreamBudget(step = 2), rules = @RateRule)
    Flux<String> streamWithoutResultCost() {
      return Flux.empty();
    }

    @Mistake({
      "@RateLimiter.resultCost = [",
      "the method streams, and each item has one cost: use one of them for all limits"
    })
    @RateLimiter(cost = "5", resultCost = Units.class, rules = @RateRule)
    @RateLimiter(value = "others", cost = "5", resultCost = Others.class, rules = @RateRule)
    Flux<String> twoCostsOfItems() {
      return Flux.empty();
    }

    @Mistake({
      "@RateLimiter.resultCost = ",
      "$NoBean",
      "there is no bean of this type: make it a @Singleton"
    })
    @RateLimiter(cost = "5", resultCost = NoBean.class, rules = @RateRule)
    void resultCostOfNoBean() {}

    @Mistake(
        "@RateLimiter.resultCost = io.limiter.micronaut.annotation.ResultCost: there are several beans of this type: name the one")
    @RateLimiter(cost = "5", resultCost = ResultCost.class, rules = @RateRule)
    void resultCostOfSeveral() {}

    @Mistake({
      "@RateLimiter.cost = 5: other rules of this method count the same subject with cost = 5, resultCost = ",
      "$Units",
      "use one cost for all of them, or a separate key for some"
    })
    @RateLimiter(cost = "5", resultCost = Units.class, rules = @RateRule(count = 10))
    @RateLimiter(cost = "5", rules = @RateRule(count = 20))
    void otherResultCost() {}
  }

  @Mistaken
  static class Outcomes {

    @Mistake({
      "@RateLimiter.preventDuplicateRule.counts = FAILURES",
      "remove it, and use releaseOn for the failures after which they may be repeated"
    })
    @RateLimiter(
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(counts = Counts.FAILURES))
    void duplicatesThatFail() {}

    @Mistake(
        "@RateRule.counts = FAILURES: countIf already selects the calls that count: remove one of them")
    @RateLimiter(countIf = "#{status == 404}")
    @RateRule(counts = Counts.FAILURES)
    void countIfAndCounts() {}

    @Mistake("@RateLimiter.failedOn = [401]: countIf selects the calls that count: remove one")
    @RateLimiter(countIf = "#{status == 404}", failedOn = 401, rules = @RateRule)
    void countIfAndFailedOn() {}

    @Mistake({
      "@RateLimiter.countIf = #",
      "{status == 404}: it has no effect on concurrency limits and without rules: add other rules, or remove it"
    })
    @RateLimiter(
        countIf = "#{status == 404}",
        rules = @RateRule(algorithm = Algorithm.CONCURRENCY_LIMIT))
    void countIfInFlight() {}

    @Mistake(
        "leakyBucket = 10-per-60s-queue-10: a turn that has passed cannot be given back to a call that countIf does not select")
    @RateLimiter(
        countIf = "#{status == 404}",
        rules = @RateRule(leakyBucket = @LeakyBucket(queue = 10)))
    void countIfAndWaiting() {}

    @Mistake({
      "@RateLimiter.countIf = #",
      "{status == 409}: another @RateLimiter of this policy and method has countIf = \"#",
      "{status == 404}\": set both to the same, or give one a name of its own"
    })
    @RateLimiter(countIf = "#{status == 404}", rules = @RateRule)
    @RateLimiter(countIf = "#{status == 409}", rules = @RateRule(count = 20))
    void countIfTwice() {}

    @Mistake({
      "@RateLimiter.countIf = nothing: no bean of type io.limiter.micronaut.annotation.CountCondition has this name: annotate one with @Named(\"nothing\"), or write an expression over the answer in the annotation, such as \"#",
      "{status == 404}\""
    })
    @RateLimiter(countIf = "nothing", rules = @RateRule)
    void countIfOfNoBean() {}

    @Mistake({
      "@RateLimiter.countIf = #",
      "{status == 404}: the method returns java.util.concurrent.Future<java.lang.String>",
      "or count all of its calls"
    })
    @RateLimiter(countIf = "#{status == 404}", rules = @RateRule)
    Future<String> countIfUnseen() {
      return CompletableFuture.completedFuture("");
    }

    @Mistake(
        "@RateLimiter.failedOn = [401]: it has no effect without a rule with counts = FAILURES or SUCCESSES: add one, or remove it")
    @RateLimiter(failedOn = 401, rules = @RateRule)
    void failedOnForAll() {}

    @Mistake(
        "@RateLimiter.failedOn = [401]: it has no effect without a rule with counts = FAILURES or SUCCESSES")
    @RateLimiter(failedOn = 401, rules = @RateRule(algorithm = Algorithm.CONCURRENCY_LIMIT))
    void failedOnInFlight() {}

    @Mistake(
        "@RateLimiter.failedOn = {}: name statuses, or remove it: then any exception is a failure, and any status of 400 and above")
    @RateLimiter(
        failedOn = {},
        rules = @RateRule(counts = Counts.FAILURES))
    void failedOnNothing() {}

    @Mistake("@RateLimiter.failedOn = 399: set it to error statuses, 400 to 599")
    @RateLimiter(
        failedOn = {401, 399},
        rules = @RateRule(counts = Counts.FAILURES))
    void failedOn399() {}

    @Mistake("@RateLimiter.failedOn = 600: set it to error statuses, 400 to 599")
    @RateLimiter(failedOn = 600, rules = @RateRule(counts = Counts.FAILURES))
    void failedOn600() {}

    @Mistake(
        "@RateLimiter.failedOn = {}: another @RateLimiter of this method has failedOn = [401], and a call either fails or does not: set both to the same")
    @RateLimiter(failedOn = 401, rules = @RateRule(counts = Counts.FAILURES))
    @RateLimiter(rules = @RateRule(count = 5, counts = Counts.SUCCESSES))
    void failedOnTwice() {}

    @Mistake({
      "@RateLimiter.anonymousRules = [2-per-60s]",
      "let both count the same kinds of calls"
    })
    @RateLimiter(
        header = "X-Api-Key",
        rules = @RateRule(counts = Counts.FAILURES),
        anonymousRules = @RateRule(count = 2))
    void otherKindsForAnonymous() {}
  }

  @Mistaken
  static class Unseen {

    @Mistake({"@RateRule.algorithm = CONCURRENCY_LIMIT", REMEDY + ", or "})
    @RateRule(count = 2, algorithm = Algorithm.CONCURRENCY_LIMIT)
    Future<String> futureInFlight() {
      return new CompletableFuture<>();
    }

    @Mistake({"@RateRule.counts = FAILURES", REMEDY + ", or "})
    @RateRule(counts = Counts.FAILURES)
    Future<String> futureFailures() {
      return new CompletableFuture<>();
    }

    @Mistake({
      "@RateLimiter.preventDuplicate = true",
      REMEDY + ", or write duplicate = @Duplicate(releaseOnFailure = false)"
    })
    @RateLimiter(preventDuplicate = true)
    Future<String> futureDuplicates(String order) {
      return new CompletableFuture<>();
    }

    @Mistake({
      "@RateLimiter.duplicate.releaseOn = [500]",
      REMEDY + ", or write duplicate = @Duplicate(releaseOnFailure = false)"
    })
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(releaseOn = 500))
    Future<String> futureReleasedOn(String order) {
      return new CompletableFuture<>();
    }
  }

  abstract static class NoBean implements ResultCost {}

  @Singleton
  @Requires(property = "spec.name", value = "ChargeMistakesTest")
  static class Others implements ResultCost {
    @Override
    public long of(Object result) {
      return 1;
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = "ChargeMistakesTest")
  static class Units implements ResultCost {
    @Override
    public long of(Object result) {
      return 1;
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = "ChargeMistakesTest")
  static class OtherUnits implements ResultCost {
    @Override
    public long of(Object result) {
      return 2;
    }
  }

  @Test
  void limitsThatDoNotDependOnTheEndOfACallAreAllowed() throws Exception {
    try (ApplicationContext context = Starts.inMemory("UnseenEnd")) {
      Allowed allowed = context.getBean(Allowed.class);
      assertThat(allowed.limited("7").get()).isEqualTo("ok");
      assertThat(allowed.stage().join()).isEqualTo("ok");
      assertThat(allowed.stage().join()).isEqualTo("ok");
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = "UnseenEnd")
  static class Allowed {
    @RateLimiter(
        limitType = LimitType.GLOBAL,
        rules = @RateRule(count = 1, time = 60),
        preventDuplicate = true,
        duplicate = @Duplicate(releaseOnFailure = false))
    Future<String> limited(String order) {
      return CompletableFuture.completedFuture("ok");
    }

    @RateLimiter(
        limitType = LimitType.GLOBAL,
        rules = @RateRule(count = 1, algorithm = Algorithm.CONCURRENCY_LIMIT))
    CompletableFuture<String> stage() {
      return CompletableFuture.completedFuture("ok");
    }
  }
}
