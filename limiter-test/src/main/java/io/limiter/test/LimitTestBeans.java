// SPDX-License-Identifier: Apache-2.0
package io.limiter.test;

import io.limiter.core.LimitStore;
import io.limiter.core.redis.ConnectionSource;
import io.limiter.micronaut.call.LimitWarnings;
import io.limiter.micronaut.config.LimiterConfiguration.MemoryConfiguration;
import io.limiter.micronaut.config.RedisConfiguration;
import io.limiter.micronaut.redis.LimitStoreFactory;
import io.micronaut.context.BeanContext;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Property;
import io.micronaut.context.annotation.Replaces;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.condition.Condition;
import io.micronaut.context.condition.ConditionContext;
import io.micronaut.context.event.BeanCreatedEvent;
import io.micronaut.context.event.BeanCreatedEventListener;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.annotation.Order;
import io.micronaut.core.order.Ordered;
import io.micronaut.test.context.TestContext;
import io.micronaut.test.context.TestExecutionListener;
import jakarta.inject.Singleton;
import java.security.SecureRandom;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The beans of a {@link LimitTest}; other tests do not have them. */
@Factory
@Requires(condition = LimitTestBeans.OfLimitTest.class)
final class LimitTestBeans {

  @Singleton
  TestClock clock(@Property(name = LimitTestProperties.STORE) String store) {
    return new TestClock(store.equals("memory"));
  }

  @Singleton
  @Requires(property = LimitTestProperties.STORE, value = "memory")
  @Replaces(value = LimitStore.class, factory = LimitStoreFactory.class)
  TestStore.Memory store(MemoryConfiguration memory, TestClock clock) {
    return new TestStore.Memory(memory.maxSubjects(), clock);
  }

  @Singleton
  Limits limits(LimitStore store, LimitWarnings warnings) {
    return new Limits(ours(store), warnings);
  }

  private static TestStore ours(LimitStore store) {
    if (store instanceof TestStore ours) {
      return ours;
    }
    throw new ConfigurationException(
        "%s stands in front of the store of @LimitTest: give the BeanCreatedEventListener that creates it an order before Ordered.LOWEST_PRECEDENCE"
            .formatted(store.getClass().getName()));
  }

  /** Gives the reason, which the error of a test that asks for these beans has. */
  static final class OfLimitTest implements Condition {

    @Override
    public boolean matches(@SuppressWarnings("rawtypes") ConditionContext context) {
      boolean matches = context.containsProperty(LimitTestProperties.STORE);
      if (!matches) {
        context.fail(
            "Limits and TestClock are beans of limit tests only: annotate the test class with @LimitTest in place of @MicronautTest");
      }
      return matches;
    }
  }

  /** In front of all that the application and the limiter put before the store. */
  @Singleton
  @Order(Ordered.LOWEST_PRECEDENCE)
  @Requires(property = LimitTestProperties.STORE)
  static final class InFront implements BeanCreatedEventListener<LimitStore> {

    private final BeanContext context;
    private final TestClock clock;
    private final boolean inMemory;

    InFront(
        BeanContext context,
        TestClock clock,
        @Property(name = LimitTestProperties.STORE) String store) {
      this.context = context;
      this.clock = clock;
      this.inMemory = store.equals("memory");
    }

    @Override
    public LimitStore onCreated(BeanCreatedEvent<LimitStore> created) {
      if (inMemory) {
        return inMemory(created);
      }
      if (!context.containsBean(ConnectionSource.class)) {
        throw new ConfigurationException(
            "@LimitTest(store = REDIS), but neither redis.uri nor redis.uris is set: set one in application-test.yml, or implement TestPropertyProvider in the test");
      }
      return new TestStore.Shared(created.getBean());
    }

    private LimitStore inMemory(BeanCreatedEvent<LimitStore> created) {
      Class<?> bean = created.getBeanDefinition().getBeanType();
      if (bean != TestStore.Memory.class) {
        throw new ConfigurationException(
            "A bean of %s replaces the store of @LimitTest: exclude it from this test, for example with @Requires(missingProperty = \"%s\")"
                .formatted(bean.getName(), LimitTestProperties.STORE));
      }
      return new TestStore.Driven(created.getBean(), clock);
    }
  }

  /** Gives each application its own keys. */
  @Singleton
  @Requires(property = LimitTestProperties.STORE, value = "redis")
  static final class OwnKeys implements BeanCreatedEventListener<RedisConfiguration> {

    /** The longest prefix. It begins with the part that Redis' access rules may match. */
    private static final int LONGEST = 32;

    @Override
    public RedisConfiguration onCreated(BeanCreatedEvent<RedisConfiguration> created) {
      RedisConfiguration redis = created.getBean();
      String own = Long.toString(new SecureRandom().nextLong(1L << 40, 1L << 41), 36) + ':';
      String configured = redis.keyPrefix();
      return redis.withKeyPrefix(
          configured.substring(0, Math.min(configured.length(), LONGEST - own.length())) + own);
    }
  }

  /** Resets all counts before each test, and rejects tests that run at the same time. */
  @Singleton
  @Requires(property = LimitTestProperties.STORE)
  static final class OneTestAtATime implements TestExecutionListener {

    private final Limits limits;
    private @Nullable String running; // guarded by this
    private @Nullable Thread runner; // of that test; guarded by this

    OneTestAtATime(Limits limits) {
      this.limits = limits;
    }

    @Override
    public synchronized void beforeTestMethod(TestContext test) {
      String name = name(test);
      if (running != null) {
        throw new IllegalStateException(
            "%s begins while %s runs: both would count in the same application, so annotate the class with @Execution(ExecutionMode.SAME_THREAD). Classes may run in parallel"
                .formatted(name, running));
      }
      limits.reset();
      running = name;
      runner = Thread.currentThread();
    }

    /** Also called for a test that was not allowed to begin. */
    @Override
    public synchronized void afterTestMethod(TestContext test) {
      if (runner == Thread.currentThread()) {
        running = null;
        runner = null;
      }
    }

    @Override
    public synchronized void afterTestClass(TestContext test) {
      if (running == null) {
        limits.reset();
      }
    }

    private static String name(TestContext test) {
      return Optional.ofNullable(test.getTestClass()).map(Class::getSimpleName).orElse("?")
          + '.'
          + test.getTestName();
    }
  }
}
