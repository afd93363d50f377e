// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.LimitType;
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
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import kotlin.ResultKt;
import kotlin.coroutines.Continuation;
import kotlin.coroutines.CoroutineContext;
import kotlin.coroutines.EmptyCoroutineContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.provider.Arguments;
import org.reactivestreams.Publisher;

/** A duplicate guard that cannot do what is asked of it stops the start. */
class DuplicateGuardMistakesTest extends MistakesContract {

  private static final String NO_GUARD =
      "it has no effect without preventDuplicate = true: set that, or remove it";

  static Stream<Arguments> mistakes() {
    return Stream.of(
        arguments(RuleWithoutGuard.class, "@RateLimiter.preventDuplicateRule = ", NO_GUARD),
        arguments(ByWithoutGuard.class, "@RateLimiter.duplicate = @Duplicate", NO_GUARD),
        arguments(ReleaseWithoutGuard.class, "@RateLimiter.duplicate = @Duplicate", NO_GUARD),
        arguments(
            RuleOfZero.class, "@RateLimiter.preventDuplicateRule.count = 0", "give it 1 or more"),
        arguments(
            NoArguments.class,
            "@RateLimiter.duplicate.by = ARGUMENTS",
            "the method has no arguments: use DuplicateBy.CALLER"),
        indigestible(OfRequest.class, "io.micronaut.http.HttpRequest"),
        indigestible(OfStream.class, "java.io.InputStream"),
        indigestible(OfPublisher.class, "org.reactivestreams.Publisher"),
        indigestible(OfFuture.class, "java.util.concurrent.CompletableFuture"),
        indigestible(OfPlainObject.class, Unknown.class.getName()),
        indigestible(OfListOfPlainObjects.class, Unknown.class.getName()),
        indigestible(OfHiddenStream.class, "java.io.InputStream"));
  }

  private static Arguments indigestible(Class<?> bean, String type) {
    return arguments(
        bean,
        "@RateLimiter.duplicate.by = ARGUMENTS: the parameter 'order' cannot be digested because of "
            + type,
        "make it plain data or an @Introspected type, remove it from the method, or use DuplicateBy.CALLER");
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

  @Test
  void dataOfAnyShapeCanBeDigested() {
    assertThatNoException().isThrownBy(() -> Starts.inMemory("Digestible").close());
  }

  @Singleton
  @Requires(property = "spec.name", value = "RuleWithoutGuard")
  static class RuleWithoutGuard {
    @RateLimiter(rules = @RateRule, preventDuplicateRule = @RateRule(count = 1, time = 9))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "ByWithoutGuard")
  static class ByWithoutGuard {
    @RateLimiter(rules = @RateRule, duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    void call(String order) {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "ReleaseWithoutGuard")
  static class ReleaseWithoutGuard {
    @RateLimiter(rules = @RateRule, duplicate = @Duplicate(releaseOnFailure = false))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "RuleOfZero")
  static class RuleOfZero {
    @RateLimiter(preventDuplicate = true, preventDuplicateRule = @RateRule(count = 0))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "NoArguments")
  static class NoArguments {
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "OfRequest")
  static class OfRequest {
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    void call(HttpRequest<?> order) {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "OfStream")
  static class OfStream {
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    void call(InputStream order) {}
  }

  @Introspected
  record Upload(String name, List<Part> parts) {}

  @Introspected
  record Part(Upload of, InputStream content) {}

  @Singleton
  @Requires(property = "spec.name", value = "OfHiddenStream")
  static class OfHiddenStream {
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    void call(Upload order) {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "OfPublisher")
  static class OfPublisher {
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    void call(Publisher<String> order) {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "OfFuture")
  static class OfFuture {
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    void call(CompletableFuture<String> order) {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "OfPlainObject")
  static class OfPlainObject {
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    void call(String phone, Unknown order) {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "OfListOfPlainObjects")
  static class OfListOfPlainObjects {
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    void call(Map<String, List<Unknown>> order) {}
  }

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
}
