// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.exception.DuplicateSubmissionException;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Introspected;
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
import kotlin.ResultKt;
import kotlin.coroutines.Continuation;
import kotlin.coroutines.CoroutineContext;
import kotlin.coroutines.EmptyCoroutineContext;
import org.junit.jupiter.api.Test;

/** Which arguments a duplicate guard can compare. */
class ComparedArgumentsTest {

  @Singleton
  @Requires(property = "spec.name", value = "HiddenStream")
  static class HiddenStream {
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    void call(Upload order) {}
  }

  @Test
  void aStreamInsideOfDataCannotBeDigested() {
    assertThat(Starts.mistake(Map.of("spec.name", "HiddenStream")))
        .hasMessageContaining(
            "the parameter 'order' cannot be digested because of java.io.InputStream: make it plain data");
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
