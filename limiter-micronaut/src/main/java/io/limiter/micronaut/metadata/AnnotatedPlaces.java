// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.micronaut.core.naming.NameUtils;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Error;
import io.micronaut.http.annotation.HttpMethodMapping;
import io.micronaut.inject.ExecutableMethod;
import io.micronaut.runtime.event.annotation.EventListener;
import io.micronaut.scheduling.annotation.Scheduled;
import jakarta.inject.Singleton;
import java.util.ArrayList;
import java.util.List;

/** Finds the places whose limits hold for a method. */
@Singleton
final class AnnotatedPlaces {

  // Named, because no service needs them all.
  private static final String SERVER_FILTER = "io.micronaut.http.annotation.ServerFilter";
  private static final String SERVER_WEB_SOCKET =
      "io.micronaut.websocket.annotation.ServerWebSocket";

  /**
   * Those places, nearest first. A class speaks for the routes of a controller, not for its error
   * routes and helpers, and for all methods of another bean but those that every object has.
   *
   * @param description the method, for messages
   */
  List<AnnotatedPlace> of(ExecutableMethod<?, ?> method, String description) {
    boolean classSpeaks =
        method.hasStereotype(Controller.class) ? isRoute(method) : isCalled(method);
    List<AnnotatedPlace> limited = new ArrayList<>();
    for (AnnotatedPlace place : AnnotatedPlace.of(method)) {
      if (place.exempt() && !place.isEmpty()) {
        throw PlanErrors.of(
            description,
            "@NoRateLimit",
            "beside " + (place.rules().isEmpty() ? place.limiters() : place.rules()),
            "one contradicts the other: remove one of them");
      }
      if (place.exempt()) {
        break;
      }
      if (!place.isEmpty() && (place.onMethod() || classSpeaks)) {
        refuseFilter(method, description, place);
        limited.add(place);
      }
    }
    refuseErrorRoute(method, description, limited);
    return limited;
  }

  private static boolean isRoute(ExecutableMethod<?, ?> method) {
    return method.hasStereotype(HttpMethodMapping.class) && !method.hasAnnotation(Error.class);
  }

  /** Whether others call the method, not Micronaut itself. */
  private static boolean isCalled(ExecutableMethod<?, ?> method) {
    return !isOfObject(method)
        && !method.hasStereotype(EventListener.class)
        && !method.hasStereotype(Scheduled.class);
  }

  /** Whoever logs a bean, or puts it into a set, makes no call of it. */
  private static boolean isOfObject(ExecutableMethod<?, ?> method) {
    List<Class<?>> parameters = List.of(method.getArgumentTypes());
    return switch (method.getMethodName()) {
      case "toString", "hashCode" -> parameters.isEmpty();
      case "equals" -> parameters.equals(List.of(Object.class));
      default -> false;
    };
  }

  /** Filters and messages are not called by anybody who could be refused, on an event loop. */
  private static void refuseFilter(
      ExecutableMethod<?, ?> method, String description, AnnotatedPlace place) {
    for (String type : List.of(SERVER_FILTER, SERVER_WEB_SOCKET)) {
      if (!place.onMethod() && method.hasStereotype(type)) {
        throw PlanErrors.of(
            description,
            "@" + NameUtils.getSimpleName(type),
            "a limited class",
            "it has no routes that a limit could hold for: put the limit on the methods that it is meant for");
      }
    }
  }

  /** An error route answers what was decided already, on a thread that must not wait. */
  private static void refuseErrorRoute(
      ExecutableMethod<?, ?> method, String description, List<AnnotatedPlace> limited) {
    if (method.hasAnnotation(Error.class) && limited.stream().anyMatch(AnnotatedPlace::onMethod)) {
      throw PlanErrors.of(
          description,
          "@Error",
          "a limited method",
          "errors are answered, not limited: remove the limit");
    }
  }
}
