// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Error;
import io.micronaut.http.annotation.HttpMethodMapping;
import io.micronaut.inject.ExecutableMethod;
import jakarta.inject.Singleton;
import java.util.ArrayList;
import java.util.List;

/** Finds the places whose limits hold for a method. */
@Singleton
final class LimitPlaces {

  /**
   * Those places, nearest first. A class speaks for the routes of a controller, not for its error
   * routes and helpers, and for all methods of another bean.
   *
   * @param description the method, for messages
   */
  List<Place> of(ExecutableMethod<?, ?> method, String description) {
    boolean classSpeaks = !method.hasStereotype(Controller.class) || isRoute(method);
    List<Place> limited = new ArrayList<>();
    for (Place place : Place.of(method)) {
      if (place.exempt() && !place.isEmpty()) {
        throw PlanErrors.of(
            description,
            "@NoRateLimit",
            "beside " + (place.rules().isEmpty() ? place.limiters() : place.rules()),
            "one contradicts the other: remove one of them");
      }
      if (place.exempt()) {
        return limited;
      }
      if (!place.isEmpty() && (place.onMethod() || classSpeaks)) {
        limited.add(place);
      }
    }
    refuseErrorRoute(method, description, limited);
    return limited;
  }

  private static boolean isRoute(ExecutableMethod<?, ?> method) {
    return method.hasStereotype(HttpMethodMapping.class) && !method.hasAnnotation(Error.class);
  }

  /** An error route answers what was decided already, on a thread that must not wait. */
  private static void refuseErrorRoute(
      ExecutableMethod<?, ?> method, String description, List<Place> limited) {
    if (method.hasAnnotation(Error.class) && limited.stream().anyMatch(Place::onMethod)) {
      throw PlanErrors.of(
          description,
          "@Error",
          "a limited method",
          "errors are answered, not limited: remove the limit");
    }
  }
}
