// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.event;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.micronaut.config.LimiterConfiguration.EventsConfiguration;
import io.limiter.micronaut.event.LimiterEvent.PolicyChanged;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.event.ApplicationEventPublisher;
import io.micronaut.context.exceptions.ConfigurationException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The queue between what happens and its listeners, with a thread that the test runs. */
class EventPublisherTest {

  private static final List<Rule> TEN = List.of(SlidingWindowLogRule.of(10, Duration.ofMinutes(1)));
  private static final List<Rule> TWENTY =
      List.of(SlidingWindowLogRule.of(20, Duration.ofMinutes(1)));

  private static final ApplicationContext CONTEXT =
      ApplicationContext.run(Map.of("limiter.enabled", false));

  private final List<Object> heard = new ArrayList<>();
  private final Queue<Runnable> tasks = new ArrayDeque<>();
  private EventsConfiguration settings = new EventsConfiguration(1_024);
  private boolean listeners = true;

  @AfterAll
  static void close() {
    CONTEXT.close();
  }

  private EventPublisher publisher() {
    return new EventPublisher(
        new EventPublisher.Publishers(
            CONTEXT, channel(), channel(), channel(), channel(), channel(), channel(), channel()),
        settings,
        new SubjectDigest(Optional.empty()),
        tasks::add);
  }

  private <E> ApplicationEventPublisher<E> channel() {
    return new ApplicationEventPublisher<>() {
      @Override
      public void publishEvent(E event) {
        heard.add(event);
      }

      @Override
      public boolean isEmpty() {
        return !listeners;
      }
    };
  }

  @Test
  void aChangedPolicyIsAnEvent() {
    EventPublisher publisher = publisher();

    publisher.policyChanged("search", "count 10 → 20", TEN, TWENTY);

    assertThat(heard).as("on this thread").isEmpty();
    tasks.remove().run();
    assertThat(heard).containsExactly(new PolicyChanged("search", "count 10 → 20", TEN, TWENTY));
    assertThat(tasks).isEmpty();
  }

  @Test
  void oneTaskPublishesAllThatWaitsInOrder() {
    EventPublisher publisher = publisher();
    publisher.lost("a", new StoreException(FailureReason.TIMEOUT, "late", null));
    publisher.back("a");
    publisher.back("b");

    assertThat(tasks).hasSize(1);
    tasks.remove().run();

    assertThat(heard)
        .containsExactly(
            new LimiterEvent.StoreLost("a", FailureReason.TIMEOUT, "late"),
            new LimiterEvent.StoreBack("a"),
            new LimiterEvent.StoreBack("b"));
    publisher.back("c");
    assertThat(tasks).hasSize(1);
  }

  @Test
  void withoutListenersOnlyTheFirstOfATypeIsLookedAt() {
    listeners = false;
    EventPublisher publisher = publisher();
    publisher.back("a");
    tasks.remove().run();

    publisher.back("a");
    publisher.back("a");

    assertThat(tasks).isEmpty();
    assertThat(heard).isEmpty();
    publisher.policyChanged("search", "", TEN, TWENTY);
    assertThat(tasks).as("of another type").hasSize(1);
  }

  @Test
  void beyondItsSizeTheQueueDropsAndCounts() {
    settings = new EventsConfiguration(2);
    EventPublisher publisher = publisher();
    for (int i = 0; i < 5; i++) {
      publisher.back("node " + i);
    }
    assertThat(publisher.dropped()).isEqualTo(3);

    tasks.remove().run();

    assertThat(heard)
        .containsExactly(
            new LimiterEvent.StoreBack("node 0"), new LimiterEvent.StoreBack("node 1"));
    publisher.back("later");
    assertThat(publisher.dropped()).isEqualTo(3);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, -1, 100_001})
  void aSizeOutOfRangeIsAMistake(int size) {
    assertThatThrownBy(() -> new EventsConfiguration(size))
        .isInstanceOf(ConfigurationException.class)
        .hasMessage("limiter.events.queue-size = %s: set it to 1 to 100000", size);
  }
}
