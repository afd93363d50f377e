// SPDX-License-Identifier: Apache-2.0
package io.limiter.overload;

import io.limiter.micronaut.thread.CallerThreads;
import io.limiter.micronaut.thread.CallerThreads.CallContext;
import io.limiter.overload.ConcurrencyLimiter.Permit;
import io.limiter.overload.ConcurrencyLimiter.Waiting;
import io.limiter.overload.Criticality.Level;
import io.limiter.overload.OverloadConfiguration.Local;
import io.micronaut.aop.InterceptPhase;
import io.micronaut.aop.InterceptedMethod;
import io.micronaut.aop.InterceptorBean;
import io.micronaut.aop.MethodInterceptor;
import io.micronaut.aop.MethodInvocationContext;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.BeanProvider;
import io.micronaut.context.env.PropertySource.PropertyConvention;
import io.micronaut.context.event.ApplicationEventListener;
import io.micronaut.context.event.StartupEvent;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.context.processor.ExecutableMethodProcessor;
import io.micronaut.core.convert.ConversionService;
import io.micronaut.core.naming.NameUtils;
import io.micronaut.inject.BeanDefinition;
import io.micronaut.inject.ExecutableMethod;
import io.micronaut.inject.qualifiers.Qualifiers;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Counts the calls of methods with {@link LocalConcurrency} in flight. */
@InterceptorBean(LocalConcurrency.class)
final class LocalConcurrencyInterceptor implements MethodInterceptor<Object, Object> {

  /**
   * Within caches, whose hits are no load, and around retries, so that a call with its repetitions
   * is one.
   */
  static final int POSITION = InterceptPhase.RETRY.getPosition() - 10;

  /** A thread that waits is never left to a timer alone. */
  private static final long LONGEST_WAIT_SECONDS = 5;

  private final OverloadLimiters limiters;
  private final CallerThreads threads;
  private final ConversionService conversions;

  LocalConcurrencyInterceptor(
      OverloadLimiters limiters, CallerThreads threads, ConversionService conversions) {
    this.limiters = limiters;
    this.threads = threads;
    this.conversions = conversions;
  }

  @Override
  public int getOrder() {
    return POSITION;
  }

  /** Finds the names at the start, so that their meters are there, and warns of others. */
  @Singleton
  static final class Names
      implements ExecutableMethodProcessor<LocalConcurrency>,
          ApplicationEventListener<StartupEvent> {

    private static final Logger LOG = LoggerFactory.getLogger(Names.class);

    private final BeanProvider<OverloadLimiters> limiters;
    private final ApplicationContext beans;
    private final List<Local> written;
    private final Set<String> found = new ConcurrentSkipListSet<>();

    Names(BeanProvider<OverloadLimiters> limiters, ApplicationContext beans, List<Local> written) {
      this.limiters = limiters;
      this.beans = beans;
      this.written = written;
    }

    /** Raw: the parameters of this method are generic in other ways in Micronaut 4 and 5. */
    @Override
    @SuppressWarnings("rawtypes")
    public void process(BeanDefinition bean, ExecutableMethod of) {
      ExecutableMethod<?, ?> method = of;
      String name = method.stringValue(LocalConcurrency.class).orElse("");
      if (!name.matches("[a-z0-9]+(-[a-z0-9]+)*") || name.equals(OverloadLimiters.HTTP)) {
        throw new ConfigurationException(
            "@LocalConcurrency(\"%s\") on %s: write a name of lower-case letters, digits and hyphens other than %s, such as inventory"
                .formatted(name, method.getDescription(true), OverloadLimiters.HTTP));
      }
      found.add(name);
      var unused = limiters.get().named(name);
    }

    /** No mistake for sure: the bean with this name may need what this environment has not. */
    @Override
    public void onApplicationEvent(StartupEvent started) {
      if (!written.isEmpty()) {
        addThoseOfFactories();
      }
      for (Local local : written) {
        if (!found.contains(local.name()) && !mayBeOfVariable(local.name())) {
          LOG.warn(
              "{}.{} has no effect: no method has @LocalConcurrency(\"{}\"); those of this service are {}",
              Local.PREFIX,
              local.name(),
              local.name(),
              found.isEmpty() ? "none" : String.join(", ", found));
        }
      }
    }

    /** Micronaut 4 intercepts what such a method of a factory makes, but processes none of it. */
    private void addThoseOfFactories() {
      beans
          .getBeanDefinitions(Qualifiers.byStereotype(LocalConcurrency.class))
          .forEach(bean -> bean.stringValue(LocalConcurrency.class).ifPresent(found::add));
    }

    /** Micronaut reads several names from one variable, by each place of its hyphens. */
    private boolean mayBeOfVariable(String name) {
      String variable = NameUtils.environmentName(Local.PREFIX + '.' + name) + '_';
      return beans.getEnvironment().getPropertySources().stream()
          .filter(source -> source.getConvention() == PropertyConvention.ENVIRONMENT_VARIABLE)
          .anyMatch(
              source -> {
                for (String key : source) {
                  if (key.startsWith(variable)) {
                    return true;
                  }
                }
                return false;
              });
    }
  }

  @Override
  public @Nullable Object intercept(MethodInvocationContext<Object, Object> context) {
    String name = context.stringValue(LocalConcurrency.class).orElseThrow();
    Level level = context.enumValue(Criticality.class, Level.class).orElse(Level.NORMAL);
    ConcurrencyLimiter limiter = limiters.named(name).calls();
    limiter.watch(due -> due);
    InterceptedMethod method = InterceptedMethod.of(context, conversions);
    try {
      return switch (method.resultType()) {
        case SYNCHRONOUS -> synchronous(name, limiter, level, context);
        case COMPLETION_STAGE -> method.handleResult(stage(name, limiter, level, method));
        case PUBLISHER -> {
          Mono<Permit> turn = turn(name, limiter, level);
          Class<?> returned = context.getReturnType().getType();
          if (returned == Mono.class) { // a Flux cannot become one
            yield turn.flatMap(permit -> single(permit, method));
          }
          yield method.handleResult(
              context.getReturnType().isSingleResult()
                  ? turn.flatMap(permit -> single(permit, method))
                  : turn.flatMapMany(permit -> stream(permit, method)));
        }
      };
    } catch (Exception failure) {
      return method.handleException(failure);
    }
  }

  private @Nullable Object synchronous(
      String name,
      ConcurrencyLimiter limiter,
      Level level,
      MethodInvocationContext<Object, Object> context) {
    Permit permit = limiter.tryBegin(level);
    if (permit == null) {
      permit = await(name, limiter, level);
    }
    try {
      Object result = context.proceed();
      permit.sample();
      return result;
    } catch (Throwable failure) {
      permit.sampleFailure();
      throw failure;
    } finally {
      permit.end();
    }
  }

  private Permit await(String name, ConcurrencyLimiter limiter, Level level) {
    if (threads.mustNotBlock()) {
      limiter.reject(level);
      throw rejected(name);
    }
    CompletableFuture<Optional<Permit>> turn = new CompletableFuture<>();
    Waiting waiting =
        limiter.await(level, caller(), permit -> turn.complete(Optional.ofNullable(permit)));
    try {
      return turn.get(LONGEST_WAIT_SECONDS, TimeUnit.SECONDS).orElseThrow(() -> rejected(name));
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw left(name, waiting, turn);
    } catch (ExecutionException | TimeoutException late) {
      throw left(name, waiting, turn);
    }
  }

  private OverloadedException left(
      String name, Waiting waiting, CompletableFuture<Optional<Permit>> turn) {
    leave(waiting, turn);
    return rejected(name);
  }

  private static void leave(Waiting waiting, CompletableFuture<Optional<Permit>> turn) {
    if (!waiting.leave()) {
      var unused = turn.thenAccept(permit -> permit.ifPresent(Permit::end));
    }
  }

  /** All calls are of this instance: none is more in turn than another. */
  private static int caller() {
    return 0;
  }

  private OverloadedException rejected(String name) {
    return new OverloadedException(name, limiters.retryAfter());
  }

  private CompletionStage<Object> stage(
      String name, ConcurrencyLimiter limiter, Level level, InterceptedMethod method) {
    Permit permit = limiter.tryBegin(level);
    if (permit != null) {
      return begin(permit, method);
    }
    CompletableFuture<Object> result = new CompletableFuture<>();
    CompletableFuture<Optional<Permit>> turn = new CompletableFuture<>();
    Waiting waiting =
        limiter.await(level, caller(), given -> turn.complete(Optional.ofNullable(given)));
    var unused =
        threads
            .resume(turn, Optional.empty(), CallContext.current())
            .thenCompose(
                given -> {
                  Permit own = given.orElseThrow(() -> rejected(name));
                  if (result.isDone()) {
                    own.end();
                    return result;
                  }
                  return begin(own, method);
                })
            .whenComplete(
                (value, failure) -> {
                  if (failure == null) {
                    result.complete(value);
                  } else {
                    result.completeExceptionally(failure);
                  }
                });
    // The caller may cancel it, or give it a time.
    unused = result.whenComplete((value, failure) -> waiting.leave());
    return result;
  }

  private static CompletableFuture<Object> begin(Permit permit, InterceptedMethod method) {
    return CompletableFuture.completedFuture(permit).thenCompose(held -> stage(held, method));
  }

  private static CompletionStage<Object> stage(Permit permit, InterceptedMethod method) {
    CompletionStage<?> begun;
    try {
      begun = method.interceptResultAsCompletionStage();
    } catch (Throwable failure) {
      permit.sampleFailure();
      permit.end();
      throw failure;
    }
    return begun.handle(
        (result, failure) -> {
          if (failure == null) {
            permit.sample();
          } else {
            permit.sampleFailure();
          }
          permit.end();
          if (failure != null) {
            throw failure instanceof CompletionException wrapped
                ? wrapped
                : new CompletionException(failure);
          }
          return result;
        });
  }

  /** The permit of a subscriber, which may cancel at any time. */
  private Mono<Permit> turn(String name, ConcurrencyLimiter limiter, Level level) {
    return Mono.create(
        sink -> {
          Permit permit = limiter.tryBegin(level);
          if (permit != null) {
            sink.onCancel(permit::end);
            sink.success(permit);
            return;
          }
          CompletableFuture<Optional<Permit>> turn = new CompletableFuture<>();
          Waiting waiting =
              limiter.await(level, caller(), given -> turn.complete(Optional.ofNullable(given)));
          sink.onCancel(() -> leave(waiting, turn));
          var unused =
              threads
                  .resume(turn, Optional.empty(), CallContext.current())
                  .thenAccept(
                      given ->
                          given.ifPresentOrElse(sink::success, () -> sink.error(rejected(name))));
        });
  }

  private static Mono<Object> single(Permit permit, InterceptedMethod method) {
    return Mono.defer(() -> Mono.<Object>from(method.interceptResultAsPublisher()))
        .doOnSuccess(result -> permit.sample())
        .doOnError(failure -> permit.sampleFailure())
        .doFinally(end -> permit.end());
  }

  /** How long it lasts says nothing. */
  private static Flux<Object> stream(Permit permit, InterceptedMethod method) {
    return Flux.defer(() -> Flux.<Object>from(method.interceptResultAsPublisher()))
        .doOnError(failure -> permit.sampleFailure())
        .doFinally(end -> permit.end());
  }
}
