// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.ResultCost;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.Arguments;
import reactor.core.publisher.Flux;

/** A cost by the result that has no effect, or that cannot be determined, stops the start. */
class ResultCostMistakesTest extends MistakesContract {

  static Stream<Arguments> mistakes() {
    return Stream.of(
        arguments(
            ResultCostWithoutCost.class,
            "@RateLimiter.resultCost = " + Units.class.getName(),
            "a call takes its units before its result is known: write cost = \"…\", an estimate"),
        arguments(ResultCostInFlight.class, "@RateLimiter.resultCost = ", "no rule takes a cost"),
        arguments(
            ResultCostOfAStream.class,
            "@RateLimiter.resultCost = " + Units.class.getName(),
            "the method streams, so there is no result to compute the cost from: let it return a list, a Mono or a CompletionStage, or remove it"),
        arguments(
            ResultCostOfNoBean.class,
            "@RateLimiter.resultCost = " + NoBean.class.getName(),
            "there is no bean of this type: make it a @Singleton"),
        arguments(
            ResultCostOfSeveral.class,
            "@RateLimiter.resultCost = " + ResultCost.class.getName(),
            "there are several beans of this type: name the one"),
        arguments(
            OtherResultCost.class,
            "@RateLimiter.cost = 5: other rules of this method count the same subject with cost = 5, resultCost = "
                + Units.class.getName(),
            "give all of them one cost, or some of them their own key"));
  }

  @Singleton
  @Requires(property = "spec.name", value = "ResultCostWithoutCost")
  static class ResultCostWithoutCost {
    @RateLimiter(resultCost = Units.class, rules = @RateRule)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "ResultCostInFlight")
  static class ResultCostInFlight {
    @RateLimiter(
        resultCost = Units.class,
        rules = @RateRule(algorithm = Algorithm.CONCURRENCY_LIMIT))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "ResultCostOfAStream")
  static class ResultCostOfAStream {
    @RateLimiter(cost = "5", resultCost = Units.class, rules = @RateRule)
    Flux<String> call() {
      return Flux.empty();
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = "ResultCostOfNoBean")
  static class ResultCostOfNoBean {
    @RateLimiter(cost = "5", resultCost = NoBean.class, rules = @RateRule)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "ResultCostOfSeveral")
  static class ResultCostOfSeveral {
    @RateLimiter(cost = "5", resultCost = ResultCost.class, rules = @RateRule)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "OtherResultCost")
  static class OtherResultCost {
    @RateLimiter(cost = "5", resultCost = Units.class, rules = @RateRule(count = 10))
    @RateLimiter(cost = "5", rules = @RateRule(count = 20))
    void call() {}
  }

  abstract static class NoBean implements ResultCost {}

  @Singleton
  @Requires(property = "spec.name")
  static class Units implements ResultCost {
    @Override
    public int of(Object result) {
      return 1;
    }
  }

  @Singleton
  @Requires(property = "spec.name")
  static class OtherUnits implements ResultCost {
    @Override
    public int of(Object result) {
      return 2;
    }
  }
}
