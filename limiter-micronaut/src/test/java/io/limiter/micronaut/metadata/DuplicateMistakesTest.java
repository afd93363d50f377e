// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.limiter.micronaut.annotation.ConcurrencyLimit;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.PreventDuplicate;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.exception.DuplicateSubmissionException;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Introspected;
import io.micronaut.http.HttpRequest;
import io.micronaut.json.tree.JsonNode;
import jakarta.inject.Singleton;
import java.io.InputStream;
import java.math.BigDecimal;
import java.time.LocalDate;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import kotlin.ResultKt;
import kotlin.coroutines.Continuation;
import kotlin.coroutines.CoroutineContext;
import kotlin.coroutines.EmptyCoroutineContext;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Publisher;

/** A duplicate guard that cannot do what is asked of it stops the start. */
class DuplicateMistakesTest extends MistakesContract {

  private static final String NO_GUARD =
      "it has no effect without preventDuplicate = true: set that, or remove it";
  private static final String STATUS = "set it to an error status, 400 to 599";

  private static final String INDIGESTIBLE =
      "@RateLimiter.duplicate.by = ARGUMENTS: the parameter 'order' cannot be digested because of ";
  private static final String PLAIN_DATA =
      "make it plain data or an @Introspected type, remove it from the method, or use DuplicateBy.CALLER";

  @Mistaken
  static class Guards {

    @Mistake({"@RateLimiter.preventDuplicateRule = ", NO_GUARD})
    @RateLimiter(rules = @RateRule, preventDuplicateRule = @RateRule(count = 1, time = 9))
    void ruleWithoutGuard() {}

    @Mistake({"@RateLimiter.duplicate = @Duplicate", NO_GUARD})
    @RateLimiter(rules = @RateRule, duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    void byWithoutGuard(String order) {}

    @Mistake("@RateLimiter.preventDuplicateRule.count = 0: set it to 1 or more")
    @RateLimiter(preventDuplicate = true, preventDuplicateRule = @RateRule(count = 0))
    void ruleOfZero() {}

    @Mistake(
        "@RateLimiter.duplicate.by = ARGUMENTS: the method has no arguments: use DuplicateBy.CALLER")
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    void noArguments() {}

    @Mistake({INDIGESTIBLE, "io.micronaut.http.HttpRequest", PLAIN_DATA})
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    void ofRequest(HttpRequest<?> order) {}

    @Mistake({INDIGESTIBLE, "java.io.InputStream", PLAIN_DATA})
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    void ofStream(InputStream order) {}

    @Mistake({INDIGESTIBLE, "org.reactivestreams.Publisher", PLAIN_DATA})
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    void ofPublisher(Publisher<String> order) {}

    @Mistake({INDIGESTIBLE, "java.util.concurrent.CompletableFuture", PLAIN_DATA})
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    void ofFuture(CompletableFuture<String> order) {}

    @Mistake({INDIGESTIBLE, "$Unknown", PLAIN_DATA})
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    void ofPlainObject(String phone, Unknown order) {}

    @Mistake({INDIGESTIBLE, "$Unknown", PLAIN_DATA})
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    void ofListOfPlainObjects(Map<String, List<Unknown>> order) {}

    @Mistake({INDIGESTIBLE, "java.io.InputStream", PLAIN_DATA})
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    void ofHiddenStream(Upload order) {}
  }

  @Mistaken
  static class Details {

    @Mistake({"@RateLimiter.duplicate = @Duplicate", NO_GUARD})
    @RateLimiter(
        rules = @RateRule,
        preventDuplicate = false,
        duplicate = @Duplicate(code = "again"))
    void detailOfNoGuard() {}

    @Mistake(
        "@RateLimiter.duplicate.key = order: it is the same for every call: write an expression over the arguments")
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(key = "order"))
    void keyIsConstant(String order) {}

    @Mistake(
        "@RateLimiter.duplicate.by = ARGUMENTS: key already defines what makes submissions equal: remove one of them")
    @RateLimiter(
        preventDuplicate = true,
        duplicate = @Duplicate(key = "#{order}", by = DuplicateBy.ARGUMENTS))
    void keyAndBy(String order) {}

    @Mistake("@RateLimiter.duplicate.releaseOn = 200: set it to error statuses, 400 to 599")
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(releaseOn = {500, 200}))
    void releaseOnSuccess() {}

    @Mistake(
        "@RateLimiter.duplicate.releaseOn = {}: name statuses, or write releaseOnFailure = false instead")
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(releaseOn = {}))
    void releaseOnNothing() {}

    @Mistake(
        "@RateLimiter.duplicate.releaseOnFailure = false: releaseOn already defines when to release: remove one of them")
    @RateLimiter(
        preventDuplicate = true,
        duplicate = @Duplicate(releaseOn = 503, releaseOnFailure = false))
    void releaseOnAndNever() {}

    @Mistake({"@RateLimiter.status = 200", STATUS})
    @RateLimiter(status = 200, rules = @RateRule)
    void statusOfSuccess() {}

    @Mistake({"@RateLimiter.status = 600", STATUS})
    @RateLimiter(status = 600, rules = @RateRule)
    void statusOfNoClass() {}

    @Mistake({"@RateLimiter.duplicate.status = 399", STATUS})
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(status = 399))
    void duplicateStatusOfSuccess() {}

    @Mistake(
        "@RateLimiter.preventDuplicate = true: another @RateLimiter in the same place has it, too")
    @RateLimiter(preventDuplicate = true)
    @RateLimiter(key = "other", preventDuplicate = true)
    void twoGuards() {}
  }

  @Mistaken
  static class Claims {

    @Mistake(
        "@RateLimiter.duplicate.claim = 10s: a submission is kept for 5 s, which must be longer: set the time of the duplicate guard, or remove it")
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(claim = "10s"))
    void claimedForLonger() {}

    @Mistake("@RateLimiter.duplicate.claim = 1ms: set it to 1 s to 10 min, such as 30s")
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(claim = "1ms"))
    void claimedTooShortly() {}

    @Mistake(
        "@RateLimiter.duplicate.claim = 1s: 2 equal submissions are accepted, and only a single one is claimed: remove one of them")
    @RateLimiter(
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(count = 2, time = 60),
        duplicate = @Duplicate(claim = "1s"))
    void claimedTwice() {}

    @Mistake({
      "@RateLimiter.duplicate.claim = 1s: the method returns",
      "which does not show when a call ends: return a CompletionStage or a Publisher, or remove it"
    })
    @RateLimiter(
        preventDuplicate = true,
        duplicate = @Duplicate(claim = "1s", releaseOnFailure = false))
    Future<String> claimedWithoutEnd() {
      return CompletableFuture.completedFuture("");
    }
  }

  @Mistaken
  static class Shorthands {

    @Mistake(
        "@RateLimiter.preventDuplicate = true: @PreventDuplicate in the same place already defines it: remove one of them")
    @PreventDuplicate
    @RateLimiter(preventDuplicate = true)
    void guardTwice(String order) {}

    @Mistake(
        "@PreventDuplicate = {within=2}: there are several @RateLimiters in the same place: set preventDuplicate in the one that counts the submitter")
    @PreventDuplicate(within = 2)
    @RateLimiter(rules = @RateRule(count = 3))
    @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 30))
    void guardOfSeveral(String order) {}

    @Mistake("@PreventDuplicate.within = 0 SECONDS: set it to 1 or more")
    @PreventDuplicate(within = 0)
    void noTime(String order) {}

    @Mistake("@ConcurrencyLimit.value = 0: set it to 1 or more")
    @ConcurrencyLimit(0)
    void none() {}

    @Mistake(
        "@ConcurrencyLimit = {value=2}: there are several @RateLimiters in the same place: put it into the rules of the one it belongs to")
    @ConcurrencyLimit(2)
    @RateLimiter(rules = @RateRule(count = 3))
    @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 30))
    void limitOfSeveral() {}
  }

  @Test
  void dataOfAnyShapeCanBeDigested() throws Exception {
    try (ApplicationContext context = Starts.inMemory("Digestible")) {
      assertThat(context.isRunning()).isTrue();
    }
  }

  @Introspected
  record Upload(String name, List<Part> parts) {}

  @Introspected
  record Part(Upload of, InputStream content) {}

  /** Nothing is known of it at compile time. */
  static class Unknown {
    public String getItem() {
      return "tea";
    }
  }

  @Introspected
  record Known(String item, BigDecimal price) {}

  @Singleton
  @Requires(property = "spec.name", value = "Digestible")
  static class Digestible {
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    void call(
        Known order,
        int amount,
        LocalDate day,
        UUID id,
        byte[] content,
        Optional<String> note,
        List<Known> more,
        Map<String, Object> rest,
        JsonNode tree) {}
  }

  /** Kotlin passes another to each call of a suspending function. */
  @Test
  void aContinuationIsNoPartOfASubmission() {
    try (ApplicationContext context = Starts.inMemory("Suspending")) {
      Suspending bean = context.getBean(Suspending.class);
      for (BiConsumer<String, Rest> method :
          List.<BiConsumer<String, Rest>>of(bean::byDefault, bean::written)) {
        bean.entered.clear();
        for (String item : List.of("tea", "coffee")) {
          method.accept(item, new Rest());
        }
        Rest again = new Rest();
        Throwable denial =
            catchThrowable(
                () -> {
                  method.accept("tea", again);
                  again.end.get(20, TimeUnit.SECONDS);
                });
        assertThat(denial instanceof ExecutionException resumed ? resumed.getCause() : denial)
            .isInstanceOf(DuplicateSubmissionException.class);
        assertThat(bean.entered).containsExactly("tea", "coffee");
      }
    }
  }

  /** As Kotlin's compiler writes suspending functions. */
  @Singleton
  @Requires(property = "spec.name", value = "Suspending")
  static class Suspending {

    final Queue<String> entered = new ConcurrentLinkedQueue<>();

    @RateLimiter(limitType = LimitType.GLOBAL, preventDuplicate = true)
    Object byDefault(String item, Continuation<? super String> rest) {
      entered.add(item);
      return item;
    }

    @RateLimiter(
        limitType = LimitType.GLOBAL,
        preventDuplicate = true,
        duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    Object written(String item, Continuation<? super String> rest) {
      entered.add(item);
      return item;
    }
  }

  private static final class Rest implements Continuation<String> {

    final CompletableFuture<Object> end = new CompletableFuture<>();

    @Override
    public CoroutineContext getContext() {
      return EmptyCoroutineContext.INSTANCE;
    }

    @Override
    public void resumeWith(Object result) {
      end.completeAsync(
          () -> {
            ResultKt.throwOnFailure(result);
            return result;
          });
    }
  }
}
