// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.micronaut.annotation.ConcurrencyLimit;
import io.limiter.micronaut.annotation.PreventDuplicate;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.config.PolicySettings;
import io.limiter.micronaut.plan.LimitPlans;
import io.micronaut.core.annotation.AnnotationMetadata;
import io.micronaut.core.naming.NameUtils;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Error;
import io.micronaut.inject.ExecutableMethod;
import io.micronaut.runtime.event.annotation.EventListener;
import io.micronaut.scheduling.annotation.Scheduled;
import jakarta.inject.Singleton;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** Creates the plan of a method from its annotations, and rejects invalid ones. */
@Singleton
final class AnnotationPlanSource implements LimitPlans.Source {

  private final BeanMethods methods;
  private final AnnotatedPlaces places;
  private final PlanDraft.Readers readers;

  AnnotationPlanSource(BeanMethods methods, AnnotatedPlaces places, PlanDraft.Readers readers) {
    this.methods = methods;
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
    LimitedMethod limitedMethod = methods.of(method);
    List<AnnotatedPlace> limited = places.of(limitedMethod);
    if (limited.isEmpty()) {
      return LimitPlans.Planned.NOTHING;
    }
    PlanDraft draft = new PlanDraft(readers, settings, limitedMethod.description(), limitedMethod);
    limited.forEach(draft::add);
    return new LimitPlans.Planned(draft.plan(), draft.ruleNames());
  }

  @Override
  public LimitPlans.Planned plan(String policy, Map<String, PolicySettings> settings) {
    PlanDraft draft = new PlanDraft(readers, settings, policy, null);
    draft.add(AnnotatedPlace.NONE);
    return new LimitPlans.Planned(draft.plan(), draft.ruleNames());
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
     */
    List<AnnotatedPlace> of(LimitedMethod method) {
      AnnotationMetadata all = method.annotations();
      String description = method.description();
      boolean classSpeaks =
          all.hasStereotype(Controller.class)
              ? method.isRoute() && !all.hasAnnotation(Error.class)
              : isCalled(method);
      List<AnnotatedPlace> limited = new ArrayList<>();
      for (AnnotatedPlace place : AnnotatedPlace.of(all)) {
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
          rejectFilter(all, description, place);
          limited.add(place);
        }
      }
      rejectErrorRoute(all, description, limited);
      return limited;
    }

    /** Whether the application calls the method, not Micronaut itself. */
    private static boolean isCalled(LimitedMethod method) {
      // Logging a bean, or putting it into a set, is not a call to limit.
      return !method.isOfObject()
          && !method.annotations().hasStereotype(EventListener.class)
          && !method.annotations().hasStereotype(Scheduled.class);
    }

    /**
     * Rejects limits on filters and message listeners: Micronaut calls them on an event loop, and
     * no caller could be denied.
     */
    private static void rejectFilter(
        AnnotationMetadata method, String description, AnnotatedPlace place) {
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
        AnnotationMetadata method, String description, List<AnnotatedPlace> limited) {
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
