// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.micronaut.annotation.ConcurrencyLimit;
import io.limiter.micronaut.annotation.CountCondition;
import io.limiter.micronaut.annotation.LimitCondition;
import io.limiter.micronaut.annotation.NoRateLimit;
import io.limiter.micronaut.annotation.PeriodAnchor;
import io.limiter.micronaut.annotation.PreventDuplicate;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.ResultCost;
import io.limiter.micronaut.annotation.SubjectResolver;
import io.limiter.micronaut.annotation.Tiers;
import io.limiter.micronaut.definition.LimitedMethod;
import io.limiter.micronaut.definition.Origin;
import io.micronaut.context.annotation.Bean;
import io.micronaut.context.annotation.Factory;
import io.micronaut.core.annotation.AnnotationMetadata;
import io.micronaut.core.annotation.AnnotationUtil;
import io.micronaut.core.annotation.AnnotationValue;
import io.micronaut.core.naming.NameUtils;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Error;
import io.micronaut.inject.annotation.AnnotationMetadataHierarchy;
import io.micronaut.inject.annotation.DefaultAnnotationMetadata;
import io.micronaut.runtime.event.annotation.EventListener;
import io.micronaut.scheduling.annotation.Scheduled;
import java.lang.annotation.Annotation;
import java.lang.annotation.Repeatable;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;

/**
 * The limits in one place.
 *
 * @param onMethod whether the place is the method or one that it overrides; else it is its class or
 *     a type that the class extends
 * @param limits the limits in this place by their types: in the order in which they are written,
 *     those of composed annotations last
 * @param exempt whether the place exempts the method from the limits of farther ones
 */
record AnnotatedPlace(
    boolean onMethod,
    Map<Class<? extends Annotation>, List<AnnotationValue<?>>> limits,
    boolean exempt) {

  static final List<Class<? extends Annotation>> LIMITS =
      List.of(RateLimiter.class, RateRule.class, ConcurrencyLimit.class, PreventDuplicate.class);

  static {
    // Generated code does so where a bean is annotated, and not for a proxy of a factory's bean.
    Map<String, String> containers = new HashMap<>();
    for (Class<? extends Annotation> limit : LIMITS) {
      Repeatable repeatable = limit.getAnnotation(Repeatable.class);
      if (repeatable != null) {
        containers.put(limit.getName(), repeatable.value().getName());
      }
    }
    DefaultAnnotationMetadata.registerRepeatableAnnotations(containers);
  }

  // By name, since the classes may be absent.
  private static final List<String> CLASSES_WITHOUT_CALLERS =
      List.of(
          "io.micronaut.http.annotation.ServerFilter",
          "io.micronaut.http.annotation.ClientFilter",
          "io.micronaut.http.annotation.Filter",
          "io.micronaut.websocket.annotation.ServerWebSocket");

  private static final String EXCEPTION_HANDLER =
      "io.micronaut.http.server.exceptions.ExceptionHandler";

  static final String NOT_WOVEN =
      "Micronaut calls it once for each bean, and does not weave it: remove the limit";
  private static final String ON_EVENT_LOOP =
      "Micronaut calls it on an event loop, which must not wait for a decision: limit routes, or paths under limiter.routes";
  private static final String AFTER_THE_CALL =
      "there is no call that could be denied: limit @OnOpen or @OnMessage";

  /** The annotations of methods that cannot be limited, with the reason and the remedy. */
  private static final Map<String, String> NEVER_LIMITED =
      Map.of(
          Error.class.getName(),
          "error routes cannot be limited: remove the limit",
          "io.micronaut.http.annotation.RequestFilter",
          ON_EVENT_LOOP,
          "io.micronaut.http.annotation.ResponseFilter",
          ON_EVENT_LOOP,
          "io.micronaut.websocket.annotation.OnClose",
          AFTER_THE_CALL,
          "io.micronaut.websocket.annotation.OnError",
          AFTER_THE_CALL,
          "jakarta.annotation.PostConstruct",
          NOT_WOVEN,
          "jakarta.annotation.PreDestroy",
          NOT_WOVEN,
          AnnotationUtil.INJECT,
          NOT_WOVEN);

  /**
   * The methods by which Micronaut calls a bean of such a type; a class's limit leaves them out.
   */
  private static final Map<String, Set<String>> OF_MICRONAUT =
      Map.of(
          "io.micronaut.core.order.Ordered",
          Set.of("getOrder"),
          "io.micronaut.context.event.ApplicationEventListener",
          Set.of("onApplicationEvent", "supports"),
          "io.micronaut.context.event.BeanCreatedEventListener",
          Set.of("onCreated"),
          "io.micronaut.aop.Interceptor",
          Set.of("intercept"),
          "io.micronaut.management.health.indicator.HealthIndicator",
          Set.of("getResult"));

  /** The methods that the limiter itself calls while it decides. */
  private static final Map<String, Set<String>> OF_LIMITER =
      Map.of(
          SubjectResolver.class.getName(), Set.of("resolve", "resolveOutsideOfRequest"),
          LimitCondition.class.getName(), Set.of("limits"),
          CountCondition.class.getName(), Set.of("counts"),
          ResultCost.class.getName(), Set.of("of"),
          PeriodAnchor.class.getName(), Set.of("anchor"),
          Tiers.class.getName(), Set.of("of", "caller"));

  /**
   * The places whose limits apply to a method, nearest first. Limits on the class of a controller
   * apply to its routes, but not to its error routes and helpers. Limits on any other bean apply to
   * all methods except those of {@code Object}.
   */
  static List<AnnotatedPlace> limiting(LimitedMethod method) {
    AnnotationMetadata all = method.annotations();
    String description = method.description();
    boolean classSpeaks =
        all.hasStereotype(Controller.class)
            ? method.isRoute() && !all.hasAnnotation(Error.class)
            : isCalled(method);
    List<AnnotatedPlace> limited = new ArrayList<>();
    for (AnnotatedPlace place : of(all)) {
      if (place.exempt() && !place.isEmpty()) {
        throw Origin.annotated(description, "@NoRateLimit", "beside " + place.written())
            .mistake("one contradicts the other: remove one of them");
      }
      if (place.exempt()) {
        break;
      }
      if (!place.isEmpty() && (place.onMethod() || classSpeaks)) {
        rejectPlace(method, place);
        limited.add(place);
      }
    }
    return limited;
  }

  /** Whether a method has neither limits nor an exemption anywhere. */
  static boolean isUnmarked(LimitedMethod method) {
    return of(method.annotations()).stream().allMatch(place -> place.isEmpty() && !place.exempt());
  }

  /** Whether the application calls the method, not Micronaut or the limiter. */
  private static boolean isCalled(LimitedMethod method) {
    // Logging a bean, or putting it into a set, is not a call to limit.
    return !method.isOfObject()
        && !method.annotations().hasStereotype(EventListener.class)
        && !method.annotations().hasStereotype(Scheduled.class)
        && !isOneOf(OF_MICRONAUT, method)
        && !isOneOf(OF_LIMITER, method);
  }

  /** Whether Micronaut calls the method as it makes or closes its bean. */
  static boolean isOfLifecycle(Method method) {
    return Arrays.stream(method.getAnnotations())
        .anyMatch(each -> NOT_WOVEN.equals(NEVER_LIMITED.get(each.annotationType().getName())));
  }

  private static boolean isOneOf(Map<String, Set<String>> methods, LimitedMethod method) {
    return methods.entrySet().stream()
        .anyMatch(of -> of.getValue().contains(method.name()) && method.isOf(of.getKey()));
  }

  /** Rejects limits where no caller could be denied, or none may wait for a decision. */
  private static void rejectPlace(LimitedMethod method, AnnotatedPlace place) {
    AnnotationMetadata all = method.annotations();
    if (!place.onMethod()) {
      CLASSES_WITHOUT_CALLERS.stream()
          .filter(all::hasStereotype)
          .map(type -> "@" + NameUtils.getSimpleName(type))
          .findFirst()
          .or(() -> handlesExceptions(method))
          .ifPresent(
              type -> {
                throw Origin.annotated(method.description(), type, "a limited class")
                    .mistake(
                        "it has no routes that a limit could apply to: put the limit on the intended methods");
              });
      return;
    }
    NEVER_LIMITED.forEach(
        (type, remedy) -> {
          if (all.hasAnnotation(type)) {
            throw Origin.annotated(
                    method.description(), "@" + NameUtils.getSimpleName(type), "a limited method")
                .mistake(remedy);
          }
        });
    if (isOneOf(OF_LIMITER, method)) {
      throw Origin.annotated(method.description(), method.name(), "a limited method")
          .mistake("the limiter calls it while it decides other calls: remove the limit");
    }
    if (method.name().equals("handle")) {
      handlesExceptions(method)
          .ifPresent(
              type -> {
                throw Origin.annotated(method.description(), type, "a limited method")
                    .mistake(ON_EVENT_LOOP);
              });
    }
  }

  private static Optional<String> handlesExceptions(LimitedMethod method) {
    return Optional.of(NameUtils.getSimpleName(EXCEPTION_HANDLER))
        .filter(type -> method.isOf(EXCEPTION_HANDLER));
  }

  /**
   * The places of a method, nearest first: the method, those it overrides, its class, and the types
   * that it extends and implements.
   *
   * @param all the annotations of the method and its class
   */
  private static List<AnnotatedPlace> of(AnnotationMetadata all) {
    List<AnnotationMetadata> elements = new ArrayList<>();
    if (all.getTargetAnnotationMetadata() instanceof AnnotationMetadataHierarchy hierarchy) {
      hierarchy.forEach(elements::add);
      Collections.reverse(elements); // Micronaut lists a hierarchy from the class down
    } else {
      elements.add(all.getTargetAnnotationMetadata());
    }
    // Micronaut gives a method without any annotation of its own the metadata of its class.
    boolean hasOwn = elements.size() > 1 && !isMadeByFactory(elements);
    List<AnnotatedPlace> places = new ArrayList<>();
    for (int i = 0; i < elements.size(); i++) {
      AnnotationMetadata element = elements.get(i).getTargetAnnotationMetadata();
      boolean onMethod = hasOwn && i == 0;
      boolean exempt = element.hasDeclaredStereotype(NoRateLimit.class);
      places.add(place(all, onMethod, type -> declared(element, type), exempt));
      places.add(
          place(
              all,
              onMethod,
              type -> inherited(element, type),
              element.hasStereotype(NoRateLimit.class) && !exempt));
    }
    return places;
  }

  /** A method of a factory's bean has the metadata of the factory and its method. */
  private static boolean isMadeByFactory(List<AnnotationMetadata> elements) {
    AnnotationMetadata nearest = elements.get(0);
    return elements.get(elements.size() - 1).hasDeclaredAnnotation(Factory.class)
        && (nearest.hasStereotype(Bean.class) || nearest.hasStereotype(AnnotationUtil.SCOPE));
  }

  private static AnnotatedPlace place(
      AnnotationMetadata all,
      boolean onMethod,
      Function<Class<? extends Annotation>, List<? extends AnnotationValue<?>>> values,
      boolean exempt) {
    Map<Class<? extends Annotation>, List<AnnotationValue<?>>> limits = new LinkedHashMap<>();
    LIMITS.forEach(type -> limits.put(type, readable(all, type, values.apply(type))));
    return new AnnotatedPlace(onMethod, limits, exempt);
  }

  /** Annotations that are not repeatable are found one by one only, if they are stereotypes. */
  private static <A extends Annotation> List<AnnotationValue<A>> declared(
      AnnotationMetadata element, Class<A> type) {
    List<AnnotationValue<A>> values = element.getDeclaredAnnotationValuesByType(type);
    return values.isEmpty() ? element.findDeclaredAnnotation(type).stream().toList() : values;
  }

  static <A extends Annotation> List<AnnotationValue<A>> present(
      AnnotationMetadata element, Class<A> type) {
    List<AnnotationValue<A>> values = element.getAnnotationValuesByType(type);
    return values.isEmpty() ? element.findAnnotation(type).stream().toList() : values;
  }

  private static <A extends Annotation> List<AnnotationValue<A>> inherited(
      AnnotationMetadata element, Class<A> type) {
    List<AnnotationValue<A>> all = present(element, type);
    if (all.isEmpty()) {
      return all;
    }
    Set<String> own =
        declared(element, type).stream().map(AnnotatedPlace::asWritten).collect(Collectors.toSet());
    return all.stream().filter(value -> !own.contains(asWritten(value))).toList();
  }

  /**
   * The values from the method's metadata, with resolved placeholders and evaluable expressions.
   */
  private static List<AnnotationValue<?>> readable(
      AnnotationMetadata all,
      Class<? extends Annotation> type,
      List<? extends AnnotationValue<?>> values) {
    if (values.isEmpty()) {
      return List.of();
    }
    Map<String, AnnotationValue<?>> ready = new HashMap<>();
    present(all, type).forEach(value -> ready.putIfAbsent(asWritten(value), value));
    return values.stream()
        .<AnnotationValue<?>>map(value -> ready.getOrDefault(asWritten(value), value))
        .toList();
  }

  /**
   * A text that is equal for equal annotations; evaluated expressions themselves are never equal.
   */
  static String asWritten(Object value) {
    if (value instanceof AnnotationValue<?> annotation) {
      return annotation.getValues().entrySet().stream()
          .map(member -> member.getKey() + "=" + asWritten(member.getValue()))
          .sorted()
          .collect(Collectors.joining(",", annotation.getAnnotationName() + "(", ")"));
    }
    if (value instanceof Object[] array) {
      return Arrays.stream(array)
          .map(AnnotatedPlace::asWritten)
          .collect(Collectors.joining(",", "[", "]"));
    }
    String text =
        value instanceof int[] numbers
            ? Arrays.toString(numbers)
            : value instanceof double[] reals ? Arrays.toString(reals) : value.toString();
    return text.length() + ":" + text;
  }

  /** Returns this place with other values of its annotations. */
  AnnotatedPlace with(UnaryOperator<AnnotationValue<?>> change) {
    Map<Class<? extends Annotation>, List<AnnotationValue<?>>> changed = new LinkedHashMap<>();
    limits.forEach(
        (type, values) ->
            changed.put(type, values.stream().<AnnotationValue<?>>map(change).toList()));
    return new AnnotatedPlace(onMethod, changed, exempt);
  }

  /** The limits of a type. */
  @SuppressWarnings("unchecked") // found by this type
  <A extends Annotation> List<AnnotationValue<A>> of(Class<A> type) {
    return (List<AnnotationValue<A>>) (List<?>) limits.getOrDefault(type, List.of());
  }

  /** The limits in this place, for messages. */
  String written() {
    return limits.values().stream()
        .filter(annotations -> !annotations.isEmpty())
        .findFirst()
        .map(String::valueOf)
        .orElse("nothing");
  }

  /** Whether this place has no limits. */
  boolean isEmpty() {
    return limits.values().stream().allMatch(List::isEmpty);
  }
}
