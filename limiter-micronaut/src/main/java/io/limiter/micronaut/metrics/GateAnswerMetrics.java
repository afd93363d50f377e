// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metrics;

import io.limiter.core.Verdict;
import io.limiter.micronaut.call.AdmissionControl.VerdictListener;
import io.limiter.micronaut.call.ArrivingCall;
import io.limiter.micronaut.call.LimitedCall;
import io.limiter.micronaut.exception.CallAbandonedException;
import io.micronaut.context.BeanContext;
import io.micronaut.context.annotation.Property;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.condition.Condition;
import io.micronaut.context.condition.ConditionContext;
import io.micronaut.core.annotation.Order;
import io.micronaut.core.util.PathMatcher;
import io.micronaut.core.util.StringUtils;
import io.micronaut.core.util.SupplierUtil;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.ResponseFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.http.context.ServerContextPathProvider;
import io.micronaut.http.filter.ServerFilterPhase;
import io.micronaut.inject.BeanDefinition;
import io.micronaut.inject.BeanDefinitionReference;
import io.micronaut.inject.ExecutableMethod;
import io.micronaut.web.router.RouteAttributes;
import jakarta.inject.Singleton;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Records {@code http.server.requests} for requests that the gate answers. The filter of
 * micronaut-micrometer runs innermost and sees only requests that pass the gate. This filter hands
 * it the response, so that tags and settings are those of all other requests.
 *
 * <p>It compares the path itself. With a placeholder in the annotation, Micronaut would keep each
 * context in memory after its end: the methods of a bean, which are static, refer to all of them.
 */
@Singleton
@ServerFilter(ServerFilter.MATCH_ALL_PATTERN)
@Requires(condition = GateAnswerMetrics.Recorded.class)
final class GateAnswerMetrics implements VerdictListener {

  /** That of {@link ServerFilterPhase#METRICS}. */
  static final int ORDER = 9_000;

  private static final String EVERYWHERE = ServerFilter.MATCH_ALL_PATTERN;

  private static final String FILTER =
      "io.micronaut.configuration.metrics.binder.web.ServerMetricsFilter";

  /** When that filter saw the request; with it the filter records the response itself. */
  private static final String START = FILTER + ".START_ATTRIBUTE";

  private static final String DEFINITION =
      "io.micronaut.configuration.metrics.binder.web.$ServerMetricsFilter$Definition";

  private static final String ARRIVED = "io.limiter.arrived";

  private final Recorder<?> recorder;
  private final String pattern;

  GateAnswerMetrics(
      BeanContext beans,
      ServerContextPathProvider contextPath,
      @Property(name = "micronaut.metrics.http.path", defaultValue = EVERYWHERE) String path) {
    this.recorder = recorder(beans).orElseThrow();
    String prefix = contextPath.getContextPath();
    this.pattern =
        prefix == null || path.equals(EVERYWHERE) ? path : StringUtils.prependUri(prefix, path);
  }

  @Override
  public void arrived(HttpRequest<?> request) {
    request.setAttribute(ARRIVED, System.nanoTime());
  }

  @Override
  public void decided(ArrivingCall<?> call, Verdict verdict) {}

  @ResponseFilter
  @Order(ORDER)
  void respond(HttpRequest<?> request, MutableHttpResponse<?> response) {
    if ((pattern.equals(EVERYWHERE) || PathMatcher.ANT.matches(pattern, request.getPath()))
        && request.getAttribute(START).isEmpty()
        && request.getAttribute(ARRIVED).orElse(null) instanceof Long arrived
        && isOfGate(request, response)) {
      request.setAttribute(START, arrived);
      recorder.record(request, response);
    }
  }

  /** Another filter may have answered a request that the gate admitted. */
  private static boolean isOfGate(HttpRequest<?> request, MutableHttpResponse<?> response) {
    Optional<LimitedCall> decided = LimitedCall.of(request);
    return decided.isEmpty()
        || decided.get().isDenied()
        || RouteAttributes.getException(response).orElse(null) instanceof CallAbandonedException;
  }

  /**
   * The method of the filter that records a response.
   *
   * @param filter remembers the bean: asked for again while a context ends, it would be created
   *     again, with another registry
   */
  private record Recorder<T>(Supplier<T> filter, ExecutableMethod<T, ?> method) {

    void record(HttpRequest<?> request, MutableHttpResponse<?> response) {
      method.invoke(filter.get(), request, response);
    }
  }

  /** Empty if that filter is absent, or lacks the expected members. */
  private static Optional<? extends Recorder<?>> recorder(BeanContext beans) {
    // Not by a qualifier: that would ask this bean's own condition.
    for (BeanDefinitionReference<?> reference : beans.getBeanDefinitionReferences()) {
      if (reference.getBeanDefinitionName().equals(DEFINITION)) {
        BeanDefinition<?> filter = reference.load(beans);
        return filter.isEnabled(beans) ? recorder(beans, filter) : Optional.empty();
      }
    }
    return Optional.empty();
  }

  private static <T> Optional<Recorder<T>> recorder(BeanContext beans, BeanDefinition<T> filter) {
    return filter.getExecutableMethods().stream()
        .filter(method -> method.hasAnnotation(ResponseFilter.class) && takesBoth(method))
        .map(method -> new Recorder<>(SupplierUtil.memoized(() -> beans.getBean(filter)), method))
        .findFirst();
  }

  private static boolean takesBoth(ExecutableMethod<?, ?> method) {
    Class<?>[] types = method.getArgumentTypes();
    return types.length == 2
        && types[0] == HttpRequest.class
        && types[1].isAssignableFrom(MutableHttpResponse.class);
  }

  /** Whether micronaut-micrometer records requests with that filter. */
  static final class Recorded implements Condition {
    @Override
    @SuppressWarnings("rawtypes") // as the interface has it
    public boolean matches(ConditionContext context) {
      return recorder(context.getBeanContext()).isPresent();
    }
  }
}
