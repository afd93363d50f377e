// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.health;

import io.lettuce.core.AbstractRedisClient;
import io.lettuce.core.api.StatefulConnection;
import io.limiter.core.FailureReason;
import io.limiter.core.redis.ConnectionSource;
import io.limiter.core.redis.RedisHealth;
import io.limiter.micronaut.config.LimiterConfiguration.HealthConfiguration;
import io.limiter.micronaut.plan.EndpointPart;
import io.micronaut.configuration.lettuce.health.RedisHealthIndicator;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Replaces;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.condition.Condition;
import io.micronaut.context.condition.ConditionContext;
import io.micronaut.context.event.ApplicationEventListener;
import io.micronaut.context.event.StartupEvent;
import io.micronaut.context.exceptions.BeanInstantiationException;
import io.micronaut.core.type.Argument;
import io.micronaut.health.HealthStatus;
import io.micronaut.inject.AdvisedBeanType;
import io.micronaut.inject.BeanDefinition;
import io.micronaut.inject.BeanDefinitionReference;
import io.micronaut.management.endpoint.health.HealthEndpoint;
import io.micronaut.management.health.indicator.HealthIndicator;
import io.micronaut.management.health.indicator.HealthResult;
import jakarta.inject.Singleton;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.reactivestreams.Publisher;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.publisher.Mono;

/**
 * Reports whether Redis answers, the state of its breakers, and what features of the limiter add.
 * It waits for Redis as long as a call does, without blocking a thread.
 */
final class LimiterHealth implements HealthIndicator {

  private static final String NAME = "limiter";

  /** The reasons that mean that Redis is away. The others are about this process. */
  private static final Set<FailureReason> AWAY =
      EnumSet.of(
          FailureReason.TIMEOUT,
          FailureReason.DISCONNECTED,
          FailureReason.BREAKER_OPEN,
          FailureReason.ERROR);

  private final RedisHealth redis;
  private final List<EndpointPart> parts;
  private final boolean redisRequired;

  LimiterHealth(RedisHealth redis, List<EndpointPart> parts, boolean redisRequired) {
    this.redis = redis;
    this.parts = parts;
    this.redisRequired = redisRequired;
  }

  @Override
  public Publisher<HealthResult> getResult() {
    return Mono.fromCompletionStage(redis::check).map(this::result);
  }

  private HealthResult result(List<RedisHealth.NodeStatus> nodes) {
    boolean away = nodes.stream().anyMatch(LimiterHealth::isAway);
    Map<String, Object> byName = new LinkedHashMap<>();
    nodes.forEach(node -> byName.put(node.name(), details(node)));
    Map<String, Object> details = new LinkedHashMap<>();
    details.put("redis", byName);
    parts.forEach(part -> part.health(details));
    if (!redis.warnings().isEmpty()) {
      details.put("warnings", redis.warnings());
    }
    return HealthResult.builder(NAME, away && redisRequired ? HealthStatus.DOWN : HealthStatus.UP)
        .details(details)
        .build();
  }

  private static boolean isAway(RedisHealth.NodeStatus node) {
    return node.failure().filter(failure -> AWAY.contains(failure.reason())).isPresent();
  }

  private static Map<String, Object> details(RedisHealth.NodeStatus node) {
    Map<String, Object> details = new LinkedHashMap<>();
    details.put("answers", node.failure().isEmpty());
    node.failure().ifPresent(failure -> details.put("reason", failure.reason()));
    details.put("breaker", node.lost() ? "open" : "closed");
    return details;
  }

  /**
   * Provides the limiter's health indicator. It replaces that of micronaut-redis if only the
   * limiter uses Redis; otherwise both are present.
   */
  @Factory
  @Requires(beans = ConnectionSource.class)
  static final class HealthIndicators {

    @Singleton
    @Replaces(RedisHealthIndicator.class)
    @Requires(condition = RedisUsers.None.class)
    LimiterHealth inPlace(RedisHealth redis, List<EndpointPart> parts, HealthConfiguration health) {
      return new LimiterHealth(redis, parts, health.required());
    }

    @Singleton
    @Requires(condition = RedisUsers.Some.class)
    LimiterHealth beside(RedisHealth redis, List<EndpointPart> parts, HealthConfiguration health) {
      return new LimiterHealth(redis, parts, health.required());
    }
  }

  /**
   * Finds the beans that use the Redis clients of micronaut-redis. The limiter does not: it has its
   * own connections. If only the limiter uses Redis, the health indicator of micronaut-redis would
   * report on connections that nothing needs.
   */
  @Singleton
  @Requires(classes = RedisHealthIndicator.class)
  @Requires(beans = ConnectionSource.class)
  static final class RedisUsers implements ApplicationEventListener<StartupEvent> {

    private static final Logger LOG = LoggerFactory.getLogger(RedisUsers.class);

    private static final String REDIS_HEALTH = "redis.health.enabled";

    /** Of Micronaut's modules only micronaut-redis uses its clients, for caches and sessions. */
    private static final String MICRONAUT = "io.micronaut.";

    private static final String CACHES = "redis.caches";
    private static final String SESSIONS = "micronaut.session.http.redis.enabled";

    private final ApplicationContext context;
    private final SortedSet<String> names = new TreeSet<>();

    RedisUsers(ApplicationContext context) {
      this.context = context;
      if (context.containsProperties(CACHES)) {
        names.add(CACHES);
      }
      if (context.getProperty(SESSIONS, Boolean.class, false)) {
        names.add(SESSIONS);
      }
      for (BeanDefinitionReference<?> reference : context.getBeanDefinitionReferences()) {
        if (!reference.getBeanDefinitionName().startsWith(MICRONAUT)) {
          addIfItInjects(reference);
        }
      }
    }

    private void addIfItInjects(BeanDefinitionReference<?> reference) {
      try {
        BeanDefinition<?> bean = reference.load(context);
        if (injected(bean).anyMatch(RedisUsers::isClient) && bean.isEnabled(context)) {
          names.add(name(bean));
        }
      } catch (BeanInstantiationException | LinkageError broken) {
        // A class that the bean needs is missing. Micronaut reports that when the bean is
        // requested.
        LOG.debug("{} cannot be inspected", reference.getBeanDefinitionName(), broken);
      }
    }

    /** The class in the application's source. */
    private static String name(BeanDefinition<?> bean) {
      return bean instanceof AdvisedBeanType<?> advised
          ? advised.getInterceptedType().getName()
          : bean.getDeclaringType().orElse(bean.getBeanType()).getName();
    }

    private static Stream<Argument<?>> injected(BeanDefinition<?> bean) {
      return Stream.of(
              Stream.of(bean.getConstructor().getArguments()),
              bean.getInjectedMethods().stream()
                  .flatMap(method -> Stream.of(method.getArguments())),
              bean.getInjectedFields().stream().map(field -> field.asArgument()))
          .flatMap(arguments -> arguments);
    }

    /** Whether the argument is a client, or a provider, list or array of clients. */
    private static boolean isClient(Argument<?> argument) {
      Class<?> type = argument.getType();
      Class<?> one = type.isArray() ? type.getComponentType() : type;
      return AbstractRedisClient.class.isAssignableFrom(one)
          || StatefulConnection.class.isAssignableFrom(one)
          || Stream.of(argument.getTypeParameters()).anyMatch(RedisUsers::isClient);
    }

    @Override
    public void onApplicationEvent(StartupEvent started) {
      if (!names.isEmpty()
          && !context.containsProperty(REDIS_HEALTH)
          && context.containsBean(HealthEndpoint.class)) {
        LOG.info(
            "The health indicator of micronaut-redis stays enabled, since its clients are used by {}: while Redis is unavailable the service is not ready, although the limiter continues in memory. Set redis.health.enabled to false if the service can do without Redis, otherwise to true",
            String.join(", ", names));
      }
    }

    private boolean isIndicatorOfNothing() {
      return names.isEmpty() && !context.containsProperty(REDIS_HEALTH);
    }

    /** Whether the health indicator of micronaut-redis reports on nothing that is used. */
    static final class None implements Condition {
      @Override
      @SuppressWarnings("rawtypes") // as the interface has it
      public boolean matches(ConditionContext context) {
        return find(context).filter(users -> !users.isIndicatorOfNothing()).isEmpty();
      }
    }

    /** Whether it reports on something that is used, or is configured. */
    static final class Some implements Condition {
      @Override
      @SuppressWarnings("rawtypes") // as the interface has it
      public boolean matches(ConditionContext context) {
        return find(context).filter(users -> !users.isIndicatorOfNothing()).isPresent();
      }
    }

    /** Empty if the limiter does not use Redis, or micronaut-redis is not on the class path. */
    private static Optional<RedisUsers> find(ConditionContext<?> context) {
      return context.findBean(RedisUsers.class);
    }
  }
}
