// SPDX-License-Identifier: Apache-2.0
package com.example.limits;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.StateKey;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.testing.RecordedLog;
import io.limiter.core.testing.RedisFixture;
import io.limiter.micronaut.redis.LimitStoreFactory;
import io.limiter.test.LimitTest;
import io.limiter.test.Limits;
import io.limiter.test.TestClock;
import io.micronaut.context.annotation.Primary;
import io.micronaut.context.annotation.Property;
import io.micronaut.context.annotation.Replaces;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.client.HttpClient;
import io.micronaut.http.client.annotation.Client;
import io.micronaut.test.extensions.junit5.annotation.MicronautTest;
import io.micronaut.test.support.TestPropertyProvider;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.time.temporal.ChronoUnit;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/**
 * Classes in parallel, and mistakes in the setup of a test: classes that JUnit runs within a test.
 */
class SetupTest {

  private static final Map<String, String> CLASSES_IN_PARALLEL =
      Map.of(
          "junit.jupiter.execution.parallel.enabled", "true",
          "junit.jupiter.execution.parallel.mode.default", "same_thread",
          "junit.jupiter.execution.parallel.mode.classes.default", "concurrent",
          "junit.jupiter.execution.parallel.config.strategy", "fixed",
          "junit.jupiter.execution.parallel.config.fixed.parallelism", "2");

  private static final Map<String, String> TESTS_IN_PARALLEL =
      Map.of(
          "junit.jupiter.execution.parallel.enabled", "true",
          "junit.jupiter.execution.parallel.mode.default", "concurrent",
          "junit.jupiter.execution.parallel.config.strategy", "fixed",
          "junit.jupiter.execution.parallel.config.fixed.parallelism", "2");

  private static CyclicBarrier bothRun;
  private static CountDownLatch oneFailed;

  @BeforeEach
  void begin() {
    bothRun = new CyclicBarrier(2);
    oneFailed = new CountDownLatch(1);
  }

  /** Each test meets one of the other class, and uses the whole limit. */
  abstract static class Meeting {

    @Inject
    @Client("/")
    HttpClient client;

    @Inject Limits limits;

    void meet() throws BrokenBarrierException, InterruptedException, TimeoutException {
      bothRun.await(60, TimeUnit.SECONDS);
      limits.assertAdmits(10, () -> client.toBlocking().exchange("/articles"));
      bothRun.await(60, TimeUnit.SECONDS);
      limits.assertDenies(() -> client.toBlocking().exchange("/articles"));
    }

    @Test
    void first() throws Exception {
      meet();
    }

    @Test
    void second() throws Exception {
      meet();
    }
  }

  @LimitTest
  static class OneClass extends Meeting {
    @Inject TestClock clock;

    @Test
    @Override
    void second() throws Exception {
      clock.advance(1, ChronoUnit.HOURS);
      meet();
    }
  }

  @LimitTest
  static class OtherClass extends Meeting {}

  @Test
  void classesInParallelDoNotCountTogether() {
    Launched result = Launched.run(CLASSES_IN_PARALLEL, () -> {}, OneClass.class, OtherClass.class);

    assertThat(result.failures()).isEmpty();
    assertThat(result.passed()).hasSize(4);
  }

  @LimitTest(store = LimitTest.Store.REDIS)
  @TestInstance(TestInstance.Lifecycle.PER_CLASS)
  static class OneOverRedis extends Meeting implements TestPropertyProvider {
    @Override
    public Map<String, String> getProperties() {
      return Map.of("redis.uri", RedisFixture.uri(), "limiter.redis.deadline", "10s");
    }
  }

  @LimitTest(store = LimitTest.Store.REDIS)
  @TestInstance(TestInstance.Lifecycle.PER_CLASS)
  static class OtherOverRedis extends Meeting implements TestPropertyProvider {
    @Override
    public Map<String, String> getProperties() {
      return Map.of("redis.uri", RedisFixture.uri(), "limiter.redis.deadline", "10s");
    }
  }

  @Test
  void classesInParallelDoNotCountTogetherInOneRedis() {
    Launched result =
        Launched.run(CLASSES_IN_PARALLEL, () -> {}, OneOverRedis.class, OtherOverRedis.class);

    assertThat(result.failures()).isEmpty();
    assertThat(result.passed()).hasSize(4);
  }

  @LimitTest
  static class Plain {
    @Inject Limits limits;
    @Inject CodeService codes;

    @Test
    void test() {
      limits.assertAdmits(1, () -> codes.send("1")).thenDenies();
    }
  }

  /** Nor of the settings that the annotation makes: the test has written none. */
  @Test
  void aPlainTestWarnsOfNothing() {
    try (RecordedLog log = RecordedLog.of("io.limiter")) {
      assertThat(Launched.run(Plain.class).failures()).isEmpty();
      assertThat(log.messages()).isEmpty();
    }
  }

  @LimitTest
  static class Hurried {

    @Test
    void one() throws InterruptedException {
      oneFailed.await(60, TimeUnit.SECONDS);
    }

    @Test
    void other() throws InterruptedException {
      oneFailed.await(60, TimeUnit.SECONDS);
    }
  }

  @Test
  void aTestThatBeginsWhileAnotherOfItsClassRunsFails() {
    Launched result = Launched.run(TESTS_IN_PARALLEL, oneFailed::countDown, Hurried.class);

    assertThat(result.passed()).hasSize(1);
    assertThat(result.failures()).hasSize(1);
    assertThat(result.failures().get(0))
        .isInstanceOf(IllegalStateException.class)
        .message()
        .matches(
            "Hurried.(one|other)\\(\\) begins while Hurried.(one|other)\\(\\) runs: both would count in the same application, so annotate the class with @Execution\\(ExecutionMode.SAME_THREAD\\). Classes may run in parallel");
  }

  @LimitTest
  static class Outer {

    @Nested
    @LimitTest
    class Inner {
      @Test
      void test() {}
    }
  }

  @Test
  void aNestedClassHasNoApplicationOfItsOwn() {
    Launched result = Launched.run(Outer.class);

    assertThat(result.failures()).hasSize(1);
    assertThat(result.failures().get(0))
        .hasMessage(
            "@LimitTest on the nested class com.example.limits.SetupTest$Outer$Inner: nested classes share the application of the outermost class, so annotate only that");
  }

  @LimitTest(store = LimitTest.Store.REDIS)
  @Property(name = "redis.uri", value = "redis://127.0.0.1:1")
  static class Unreachable {
    @Test
    void test() {}
  }

  @Test
  void aRedisThatDoesNotAnswerFailsTheTest() {
    Launched result = Launched.run(Unreachable.class);

    assertThat(result.passed()).isEmpty();
    assertThat(result.failures().get(0))
        .hasMessage(
            "Redis does not answer, so the counts of the last test cannot be deleted: check that the Redis of redis.uri is running");
  }

  @MicronautTest
  static class NoLimitTest {
    @Inject Limits limits;

    @Test
    void test() {}
  }

  @Test
  void aTestWithoutTheAnnotationFailsWithTheRemedy() {
    assertThat(Launched.run(NoLimitTest.class).failures().get(0))
        .hasStackTraceContaining(
            "Limits and TestClock are beans of limit tests only: annotate the test class with @LimitTest in place of @MicronautTest");
  }

  @LimitTest(store = LimitTest.Store.REDIS)
  static class WithoutUri {
    @Test
    void test() {}
  }

  @Test
  void withoutAnAddressOfRedisTheApplicationDoesNotStart() {
    Launched result = Launched.run(WithoutUri.class);

    assertThat(result.failures().get(0))
        .hasStackTraceContaining(
            "@LimitTest(store = REDIS), but neither redis.uri nor redis.uris is set: set one in application-test.yml, or implement TestPropertyProvider in the test");
  }

  @Primary
  @Singleton
  @Requires(property = "own-store")
  @Replaces(value = LimitStore.class, factory = LimitStoreFactory.class)
  static class OwnStore implements LimitStore {
    private final MemoryStore memory = new MemoryStore();

    @Override
    public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
      return memory.decide(request, mode);
    }

    @Override
    public CompletionStage<Void> reset(Collection<StateKey> keys) {
      return memory.reset(keys);
    }

    @Override
    public void close() {}
  }

  @LimitTest
  @Property(name = "own-store", value = "true")
  static class WithOwnStore {
    @Test
    void test() {}
  }

  @Test
  void aStoreOfTheTestItselfStopsTheStart() {
    Launched result = Launched.run(WithOwnStore.class);

    assertThat(result.failures().get(0))
        .hasStackTraceContaining(
            "A bean of com.example.limits.SetupTest$OwnStore replaces the store of @LimitTest: exclude it from this test, for example with @Requires(missingProperty = \"limiter-test.store\")");
  }

  @LimitTest
  @MicronautTest(rebuildContext = true)
  static class Rebuilt {
    @Inject Limits limits;
    @Inject CodeService codes;

    @Test
    void one() {
      limits.assertAdmits(1, () -> codes.send("1")).thenDenies();
    }

    @Test
    void other() {
      limits.assertAdmits(1, () -> codes.send("1")).thenDenies();
    }
  }

  @Test
  void theApplicationMayBeRebuiltForEachTest() {
    assertThat(Launched.run(Rebuilt.class).passed()).hasSize(2);
  }

  /** The members of the other annotation hold beside it. */
  @LimitTest
  @MicronautTest(startApplication = false)
  static class WithoutServer {
    @Inject Limits limits;
    @Inject CodeService codes;

    @Test
    void beansAreLimited() {
      limits.assertAdmits(1, () -> codes.send("1")).thenDenies();
    }
  }

  @Test
  void theMembersOfMicronautTestStandBesideIt() {
    assertThat(Launched.run(WithoutServer.class))
        .isEqualTo(new Launched(List.of("beansAreLimited()"), List.of()));
  }
}
