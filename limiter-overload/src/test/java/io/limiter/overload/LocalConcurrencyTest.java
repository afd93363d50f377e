// SPDX-License-Identifier: Apache-2.0
package io.limiter.overload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.limiter.core.testing.RecordedLog;
import io.limiter.overload.OverloadConfiguration.Local;
import io.limiter.overload.OverloadEvent.OverloadBegan;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.env.PropertySource;
import io.micronaut.context.env.PropertySource.Origin;
import io.micronaut.context.env.PropertySource.PropertyConvention;
import io.micronaut.runtime.event.annotation.EventListener;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

class LocalConcurrencyTest {

  private static final String SPEC = "LocalConcurrencyTest";

  /** A bean whose class has no annotation; that of the method that makes it holds. */
  static class Made {

    String quick() {
      return "quick";
    }
  }

  @Factory
  @Requires(property = "spec.name", value = SPEC)
  static class Makes {

    @Singleton
    @LocalConcurrency("made")
    Made made() {
      return new Made();
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Inventory {

    final CountDownLatch gate = new CountDownLatch(1);
    final CountDownLatch inside = new CountDownLatch(1);
    final CompletableFuture<String> later = new CompletableFuture<>();
    final Sinks.Many<String> items = Sinks.many().multicast().onBackpressureBuffer(16, false);

    @LocalConcurrency("inventory")
    String held() throws InterruptedException {
      inside.countDown();
      assertThat(gate.await(20, TimeUnit.SECONDS)).isTrue();
      return "held";
    }

    @LocalConcurrency("inventory")
    String quick() {
      return "quick";
    }

    @LocalConcurrency("inventory")
    String broken() {
      throw new IllegalStateException("broken");
    }

    @LocalConcurrency("inventory")
    CompletionStage<String> stage() {
      return later;
    }

    @LocalConcurrency("inventory")
    Mono<String> mono() {
      return Mono.fromFuture(later, true);
    }

    @LocalConcurrency("inventory")
    Flux<String> flux() {
      return items.asFlux();
    }

    @LocalConcurrency("inventory")
    Mono<String> quickMono() {
      return Mono.just("quick");
    }

    @LocalConcurrency("inventory")
    Mono<String> brokenMono() {
      throw new IllegalStateException("broken");
    }

    @LocalConcurrency("inventory")
    Flux<String> brokenFlux() {
      throw new IllegalStateException("broken");
    }

    @LocalConcurrency("other")
    String other() {
      return "other";
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Events {

    final List<OverloadEvent> all = new CopyOnWriteArrayList<>();

    @EventListener
    void on(OverloadEvent event) {
      all.add(event);
    }
  }

  private static ApplicationContext start(String maxWait) {
    return ApplicationContext.run(
        Map.of(
            "spec.name",
            SPEC,
            "limiter.overload.local.inventory.min",
            1,
            "limiter.overload.local.inventory.max",
            1,
            "limiter.overload.local.inventory.max-wait",
            maxWait));
  }

  private static ConcurrencyLimiter limiter(ApplicationContext context) {
    return context.getBean(OverloadLimiters.class).named("inventory").calls();
  }

  private static Thread hold(Inventory inventory) throws InterruptedException {
    Thread thread =
        new Thread(
            () -> {
              try {
                inventory.held();
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
            });
    thread.start();
    assertThat(inventory.inside.await(10, TimeUnit.SECONDS)).isTrue();
    return thread;
  }

  @Test
  void aCallWithoutAPlaceIsRejected() throws Exception {
    try (ApplicationContext context = start("0s")) {
      Inventory inventory = context.getBean(Inventory.class);
      Thread holder = hold(inventory);
      assertThatThrownBy(inventory::quick)
          .isInstanceOf(OverloadedException.class)
          .hasMessageStartingWith("inventory has as many calls in flight as it may have");
      assertThat(inventory.other()).isEqualTo("other");
      assertThat(inventory.stage().toCompletableFuture()).isCompletedExceptionally();
      assertThatThrownBy(() -> inventory.mono().block()).isInstanceOf(OverloadedException.class);
      Events events = context.getBean(Events.class);
      await().until(() -> !events.all.isEmpty());
      assertThat(events.all).containsExactly(new OverloadBegan("inventory", 1));
      inventory.gate.countDown();
      holder.join();
      assertThat(inventory.quick()).isEqualTo("quick");
      assertThatThrownBy(inventory::broken).hasMessage("broken");
      assertThat(limiter(context).inFlight()).isZero();
    }
  }

  @Test
  void aCallWaitsForItsTurn() throws Exception {
    try (ApplicationContext context = start("1s")) {
      Inventory inventory = context.getBean(Inventory.class);
      Thread holder = hold(inventory);
      CompletableFuture<String> mono = inventory.mono().toFuture();
      CompletableFuture<String> stage = inventory.stage().toCompletableFuture();
      CompletableFuture<String> sync = CompletableFuture.supplyAsync(inventory::quick);
      await().until(() -> limiter(context).waiting() == 3);
      inventory.later.complete("later");
      inventory.gate.countDown();
      holder.join();
      assertThat(mono.get(10, TimeUnit.SECONDS)).isEqualTo("later");
      assertThat(stage.get(10, TimeUnit.SECONDS)).isEqualTo("later");
      assertThat(sync.get(10, TimeUnit.SECONDS)).isEqualTo("quick");
      await().until(() -> limiter(context).inFlight() == 0);
    }
  }

  @Test
  void aSubscriberThatCancelsFreesItsPlace() throws Exception {
    try (ApplicationContext context = start("1s")) {
      Inventory inventory = context.getBean(Inventory.class);
      Disposable running = inventory.flux().subscribe();
      assertThat(limiter(context).inFlight()).isEqualTo(1);
      Disposable waiting = inventory.flux().subscribe();
      assertThat(limiter(context).waiting()).isEqualTo(1);
      waiting.dispose();
      assertThat(limiter(context).waiting()).isZero();
      running.dispose();
      assertThat(limiter(context).inFlight()).isZero();
      assertThat(inventory.quick()).isEqualTo("quick");
    }
  }

  @Test
  void aStreamIsInFlightUntilItEndsAndAFailedStageToo() {
    try (ApplicationContext context = start("0s")) {
      Inventory inventory = context.getBean(Inventory.class);
      CompletableFuture<List<String>> all = inventory.flux().collectList().toFuture();
      inventory.items.tryEmitNext("a");
      assertThat(limiter(context).inFlight()).isEqualTo(1);
      inventory.items.tryEmitComplete();
      assertThat(all.join()).containsExactly("a");
      CompletableFuture<String> stage = inventory.stage().toCompletableFuture();
      inventory.later.completeExceptionally(new IllegalStateException("late"));
      assertThatThrownBy(stage::join).hasRootCauseMessage("late");
      assertThat(limiter(context).inFlight()).isZero();
    }
  }

  @Test
  void aMethodThatFailsBeforeItReturnsAPublisherFreesItsPlace() {
    try (ApplicationContext context = start("0s")) {
      Inventory inventory = context.getBean(Inventory.class);
      assertThatThrownBy(() -> inventory.brokenMono().block()).hasMessage("broken");
      assertThat(limiter(context).inFlight()).isZero();
      assertThatThrownBy(() -> inventory.brokenFlux().blockLast()).hasMessage("broken");
      assertThat(limiter(context).inFlight()).isZero();
    }
  }

  @Test
  void aStageThatIsCancelledWhileItsCallWaitsFreesItsPlace() throws Exception {
    try (ApplicationContext context = start("1s")) {
      Inventory inventory = context.getBean(Inventory.class);
      Thread holder = hold(inventory);
      CompletableFuture<String> waiting = inventory.stage().toCompletableFuture();
      assertThat(limiter(context).waiting()).isEqualTo(1);
      waiting.cancel(true);
      inventory.gate.countDown();
      holder.join();
      await().until(() -> limiter(context).waiting() == 0);
      await().until(() -> limiter(context).inFlight() == 0);
      assertThat(inventory.quick()).isEqualTo("quick");
    }
  }

  @Test
  void theLatenciesOfAMonoAreSamples() {
    try (ApplicationContext context = start("0s")) {
      Inventory inventory = context.getBean(Inventory.class);
      AdaptiveLimit limit = context.getBean(OverloadLimiters.class).named("inventory").algorithm();
      await()
          .until(
              () -> {
                assertThat(inventory.quickMono().block()).isEqualTo("quick");
                return limit.figure() > 0;
              });
    }
  }

  @Test
  void theStartNamesSettingsOfANameThatNoMethodHas() {
    try (RecordedLog log = RecordedLog.of(LocalConcurrencyInterceptor.Names.class);
        ApplicationContext context =
            ApplicationContext.builder(
                    Map.of(
                        "spec.name",
                        SPEC,
                        "limiter.overload.local.inventry.max",
                        10,
                        "limiter.overload.local.other.max",
                        10,
                        "limiter.overload.local.made.max",
                        10))
                .propertySources(
                    PropertySource.of(
                        "variables",
                        Map.of("LIMITER_OVERLOAD_LOCAL_FROM_VARIABLE_MAX", "10"),
                        PropertyConvention.ENVIRONMENT_VARIABLE,
                        Origin.of("System.env")))
                .start()) {
      assertThat(context.getBeansOfType(Local.class)).hasSizeGreaterThan(2);
      assertThat(log.messages())
          .containsExactly(
              "limiter.overload.local.inventry has no effect: no method has @LocalConcurrency(\"inventry\"); those of this service are inventory, made, other");
    }
  }
}
