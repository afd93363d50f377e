// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.Arguments;

/** Settings of duplicates and of responses must be consistent. */
class AnswerMistakesTest extends MistakesContract {

  private static final String NO_GUARD =
      "it has no effect without preventDuplicate = true: set that, or remove it";
  private static final String NO_KEY =
      "it has no effect without by = IDEMPOTENCY_KEY: set that, or remove it";
  private static final String STATUS = "give it an error status, 400 to 599";

  static Stream<Arguments> mistakes() {
    return Stream.of(
        arguments(KeyWithoutGuard.class, "@RateLimiter.duplicate = @Duplicate", NO_GUARD),
        arguments(HeaderWithoutGuard.class, "@RateLimiter.duplicate = @Duplicate", NO_GUARD),
        arguments(ReleaseOnWithoutGuard.class, "@RateLimiter.duplicate = @Duplicate", NO_GUARD),
        arguments(StatusWithoutGuard.class, "@RateLimiter.duplicate = @Duplicate", NO_GUARD),
        arguments(CodeWithoutGuard.class, "@RateLimiter.duplicate = @Duplicate", NO_GUARD),
        arguments(MessageWithoutGuard.class, "@RateLimiter.duplicate = @Duplicate", NO_GUARD),
        arguments(DetailOfNoGuard.class, "@RateLimiter.duplicate = @Duplicate", NO_GUARD),
        arguments(
            KeyIsConstant.class,
            "@RateLimiter.duplicate.key = order: it is the same for every call",
            "write an expression over the arguments"),
        arguments(
            KeyAndBy.class,
            "@RateLimiter.duplicate.by = ARGUMENTS",
            "key already defines what makes submissions equal: remove one of them"),
        arguments(
            RequiredByCaller.class, "@RateLimiter.duplicate.requireIdempotencyKey = true", NO_KEY),
        arguments(
            RequiredByKey.class, "@RateLimiter.duplicate.requireIdempotencyKey = false", NO_KEY),
        arguments(
            ReleaseOnSuccess.class,
            "@RateLimiter.duplicate.releaseOn = 200",
            "give it error statuses, 400 to 599"),
        arguments(
            ReleaseOnNothing.class,
            "@RateLimiter.duplicate.releaseOn = {}",
            "name statuses, or write releaseOnFailure = false instead"),
        arguments(
            ReleaseOnAndNever.class,
            "@RateLimiter.duplicate.releaseOnFailure = false",
            "releaseOn already defines when to release: remove one of them"),
        arguments(StatusOfSuccess.class, "@RateLimiter.status = 200", STATUS),
        arguments(StatusOfNoClass.class, "@RateLimiter.status = 600", STATUS),
        arguments(DuplicateStatusOfSuccess.class, "@RateLimiter.duplicate.status = 399", STATUS),
        arguments(
            TwoGuards.class,
            "@RateLimiter.preventDuplicate = true",
            "another @RateLimiter in the same place has it, too"));
  }

  @Singleton
  @Requires(property = "spec.name", value = "KeyWithoutGuard")
  static class KeyWithoutGuard {
    @RateLimiter(rules = @RateRule, duplicate = @Duplicate(key = "#{order}"))
    void call(String order) {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "HeaderWithoutGuard")
  static class HeaderWithoutGuard {
    @RateLimiter(rules = @RateRule, duplicate = @Duplicate(requireIdempotencyKey = false))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "ReleaseOnWithoutGuard")
  static class ReleaseOnWithoutGuard {
    @RateLimiter(rules = @RateRule, duplicate = @Duplicate(releaseOn = {402, 503}))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "StatusWithoutGuard")
  static class StatusWithoutGuard {
    @RateLimiter(rules = @RateRule, duplicate = @Duplicate(status = 409))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "CodeWithoutGuard")
  static class CodeWithoutGuard {
    @RateLimiter(rules = @RateRule, duplicate = @Duplicate(code = "again"))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "MessageWithoutGuard")
  static class MessageWithoutGuard {
    @RateLimiter(rules = @RateRule, duplicate = @Duplicate(message = "Again"))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "DetailOfNoGuard")
  static class DetailOfNoGuard {
    @RateLimiter(
        rules = @RateRule,
        preventDuplicate = false,
        duplicate = @Duplicate(code = "again"))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "KeyIsConstant")
  static class KeyIsConstant {
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(key = "order"))
    void call(String order) {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "KeyAndBy")
  static class KeyAndBy {
    @RateLimiter(
        preventDuplicate = true,
        duplicate = @Duplicate(key = "#{order}", by = DuplicateBy.ARGUMENTS))
    void call(String order) {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "RequiredByCaller")
  static class RequiredByCaller {
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(requireIdempotencyKey = true))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "RequiredByKey")
  static class RequiredByKey {
    @RateLimiter(
        preventDuplicate = true,
        duplicate = @Duplicate(key = "#{order}", requireIdempotencyKey = false))
    void call(String order) {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "ReleaseOnSuccess")
  static class ReleaseOnSuccess {
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(releaseOn = {500, 200}))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "ReleaseOnNothing")
  static class ReleaseOnNothing {
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(releaseOn = {}))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "ReleaseOnAndNever")
  static class ReleaseOnAndNever {
    @RateLimiter(
        preventDuplicate = true,
        duplicate = @Duplicate(releaseOn = 503, releaseOnFailure = false))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "StatusOfSuccess")
  static class StatusOfSuccess {
    @RateLimiter(status = 200, rules = @RateRule)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "StatusOfNoClass")
  static class StatusOfNoClass {
    @RateLimiter(status = 600, rules = @RateRule)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "DuplicateStatusOfSuccess")
  static class DuplicateStatusOfSuccess {
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(status = 399))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "TwoGuards")
  static class TwoGuards {
    @RateLimiter(preventDuplicate = true)
    @RateLimiter(key = "other", preventDuplicate = true)
    void call() {}
  }
}
