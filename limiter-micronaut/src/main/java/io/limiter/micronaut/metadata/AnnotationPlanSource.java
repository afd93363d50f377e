// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.micronaut.annotation.ConcurrencyLimit;
import io.limiter.micronaut.annotation.PreventDuplicate;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.config.PolicySettings;
import io.limiter.micronaut.plan.LimitPlans;
import io.micronaut.core.naming.NameUtils;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Error;
import io.micronaut.http.annotation.HttpMethodMapping;
import io.micronaut.inject.ExecutableMethod;
import io.micronaut.runtime.event.annotation.EventListener;
import io.micronaut.scheduling.annotation.Scheduled;
import jakarta.inject.Singleton;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Creates the plan of a method from its annotations, and rejects invalid ones. */
@Singleton
final class AnnotationPlanSource implements LimitPlans.Source {

  private final AnnotatedPlaces places;
  private final PlanDraft.Readers readers;

  AnnotationPlanSource(AnnotatedPlaces places, PlanDraft.Readers readers) {
    this.places = places;
    this.readers = readers;
  }

  @Override
  public List<String> limits(ExecutableMethod<?, ?> method) {
    return Stream.of(
            RateLimiter.class, RateRule.class, ConcurrencyLimit.class, PreventDuplicate.class)
        .map(type -> AnnotatedPlace.asWritten(AnnotatedPlace.present(method, type).toArray()))
        .toList();
  }

  @Override
  public LimitPlans.Planned plan(
      ExecutableMethod<?, ?> method, Map<String, PolicySettings> settings) {
    String description = describe(method);
    List<AnnotatedPlace> limited = places.of(method, description);
    if (limited.isEmpty()) {
      return LimitPlans.Planned.NOTHING;
    }
    PlanDraft draft = new PlanDraft(readers, settings, description, method);
    limited.forEach(draft::add);
    return new LimitPlans.Planned(draft.plan(), draft.ruleNames());
  }

  @Override
  public LimitPlans.Planned plan(String policy, Map<String, PolicySettings> settings) {
    PlanDraft draft = new PlanDraft(readers, settings, policy, null);
    draft.add(AnnotatedPlace.NONE);
    return new LimitPlans.Planned(draft.plan(), draft.ruleNames());
  }

  private static String describe(ExecutableMethod<?, ?> method) {
    return Arrays.stream(method.getArgumentTypes())
        .map(Class::getTypeName)
        .collect(
            Collectors.joining(
                ",",
                method.getDeclaringType().getName() + "." + method.getMethodName() + "(",
                ")"));
  }

  /** Finds the places whose limits apply to a method. */
  @Singleton
  static final class AnnotatedPlaces {

    // By name, since the classes may be absent.
    private static final String SERVER_FILTER = "io.micronaut.http.annotation.ServerFilter";
    private static final String SERVER_WEB_SOCKET =
        "io.micronaut.websocket.annotation.ServerWebSocket";

    /**
     * The places, nearest first. Limits on the class of a controller apply to its routes, but not
     * to its error routes and helpers. Limits on any other bean apply to all methods except those
     * of {@code Object}.
     *
     * @param description the method, for messages
     */
    List<AnnotatedPlace> of(ExecutableMethod<?, ?> method, String description) {
      boolean classSpeaks =
          method.hasStereotype(Controller.class) ? isRoute(method) : isCalled(method);
      List<AnnotatedPlace> limited = new ArrayList<>();
      for (AnnotatedPlace place : AnnotatedPlace.of(method)) {
        if (place.exempt() && !place.isEmpty()) {
          throw AnnotationMembers.mistake(
              description,
              "@NoRateLimit",
              "beside " + place.written(),
              "one contradicts the other: remove one of them");
        }
        if (place.exempt()) {
          break;
        }
        if (!place.isEmpty() && (place.onMethod() || classSpeaks)) {
          rejectFilter(method, description, place);
          limited.add(place);
        }
      }
      rejectErrorRoute(method, description, limited);
      return limited;
    }

    private static boolean isRoute(ExecutableMethod<?, ?> method) {
      return method.hasStereotype(HttpMethodMapping.class) && !method.hasAnnotation(Error.class);
    }

    /** Whether the application calls the method, not Micronaut itself. */
    private static boolean isCalled(ExecutableMethod<?, ?> method) {
      return !isOfObject(method)
          && !method.hasStereotype(EventListener.class)
          && !method.hasStereotype(Scheduled.class);
    }

    /** Logging a bean, or putting it into a set, is not a call to limit. */
    private static boolean isOfObject(ExecutableMethod<?, ?> method) {
      List<Class<?>> parameters = List.of(method.getArgumentTypes());
      return switch (method.getMethodName()) {
        case "toString", "hashCode" -> parameters.isEmpty();
        case "equals" -> parameters.equals(List.of(Object.class));
        default -> false;
      };
    }

    /**
     * Rejects limits on filters and message listeners: Micronaut calls them on an event loop, and
     * no caller could be denied.
     */
    private static void rejectFilter(
        ExecutableMethod<?, ?> method, String description, AnnotatedPlace place) {
      for (String type : List.of(SERVER_FILTER, SERVER_WEB_SOCKET)) {
        if (!place.onMethod() && method.hasStereotype(type)) {
          throw AnnotationMembers.mistake(
              description,
              "@" + NameUtils.getSimpleName(type),
              "a limited class",
              "it has no routes that a limit could apply to: put the limit on the intended methods");
        }
      }
    }

    /**
     * Rejects limits on error routes: they respond to calls that were already decided, on a thread
     * that must not block.
     */
    private static void rejectErrorRoute(
        ExecutableMethod<?, ?> method, String description, List<AnnotatedPlace> limited) {
      if (method.hasAnnotation(Error.class)
          && limited.stream().anyMatch(AnnotatedPlace::onMethod)) {
        throw AnnotationMembers.mistake(
            description,
            "@Error",
            "a limited method",
            "error routes cannot be limited: remove the limit");
      }
    }
  }
}
