// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.exception.RateLimitExceededException;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.event.ApplicationEventPublisher;
import io.micronaut.context.event.StartupEvent;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.runtime.event.annotation.EventListener;
import io.micronaut.scheduling.annotation.Scheduled;
import jakarta.inject.Singleton;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * A class's limit applies to callers of its methods, not to Micronaut, whose calls are never
 * denied.
 */
class CalledByMicronautTest {

  @Test
  void listenersAndSchedulesOfALimitedClassAreFree() {
    try (Plans plans = Plans.of("CalledByMicronautTest")) {
      assertThat(plans.context().getBean(Busy.class).started).isTrue();
      assertThat(plans.find(Busy.class, "onStart")).isEmpty();
      assertThat(plans.find(Busy.class, "everyDay")).isEmpty();
      assertThat(plans.find(Busy.class, "work")).isPresent();
    }
  }

  /** Micronaut 5 also weaves the bean that calls the listener. */
  @Test
  void aListenerWithALimitOfItsOwnCountsEachEventOnce() {
    try (ApplicationContext context = Starts.inMemory("LimitedListener")) {
      LimitedListener listener = context.getBean(LimitedListener.class);
      ApplicationEventPublisher<String> events = context.getEventPublisher(String.class);

      events.publishEvent("first");
      assertThatThrownBy(() -> events.publishEvent("second"))
          .isInstanceOf(RateLimitExceededException.class);
      assertThat(listener.heard).containsExactly("first");
    }
  }

  @Test
  void aLimitedFilterIsAMistake() {
    assertThat(Starts.mistake(Map.of("spec.name", "LimitedFilter")))
        .hasMessageStartingWith(LimitedFilter.class.getName() + ".see(")
        .hasMessageContaining("@ServerFilter = a limited class: it has no routes")
        .hasMessageContaining("put the limit on the intended methods");
  }

  /** What a subclass is submitted is known only there. */
  @Test
  void aGenericSuperclassMayDistinguishSubmissionsByItsArguments() {
    try (ApplicationContext context = Starts.inMemory("GenericSubmissions")) {
      assertThat(context.getBean(Orders.class)).isNotNull();
    }
  }

  @Singleton
  @RateRule(count = 1)
  @Requires(property = "spec.name", value = "CalledByMicronautTest")
  static class Busy {
    boolean started;

    @EventListener
    void onStart(StartupEvent event) {
      started = true;
    }

    @Scheduled(fixedDelay = "1d", initialDelay = "1d")
    void everyDay() {}

    void work() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "LimitedListener")
  static class LimitedListener {
    final List<String> heard = new ArrayList<>();

    @EventListener
    @RateRule(count = 1, limitType = LimitType.GLOBAL)
    void onEvent(String event) {
      heard.add(event);
    }
  }

  @ServerFilter(ServerFilter.MATCH_ALL_PATTERN)
  @RateRule(count = 1)
  @Requires(property = "spec.name", value = "LimitedFilter")
  static class LimitedFilter {
    @RequestFilter
    void see(HttpRequest<?> request) {}
  }

  abstract static class Submissions<T> {
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    void submit(T what) {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "GenericSubmissions")
  static class Orders extends Submissions<Map<String, Object>> {}
}
