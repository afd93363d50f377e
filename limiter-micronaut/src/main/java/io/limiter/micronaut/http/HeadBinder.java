// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.micronaut.definition.HeadArguments;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.bind.ArgumentBinder.BindingResult;
import io.micronaut.core.convert.ArgumentConversionContext;
import io.micronaut.core.convert.ConversionContext;
import io.micronaut.core.convert.ConversionService;
import io.micronaut.core.type.Argument;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.bind.RequestBinderRegistry;
import io.micronaut.http.bind.binders.PendingRequestBindingResult;
import io.micronaut.http.bind.binders.RequestArgumentBinder;
import io.micronaut.http.server.binding.RequestArgumentSatisfier;
import io.micronaut.web.router.MethodBasedRouteInfo;
import io.micronaut.web.router.RouteAttributes;
import io.micronaut.web.router.RouteMatch;
import io.micronaut.web.router.UriRouteMatch;
import jakarta.inject.Singleton;
import java.util.Map;
import java.util.Optional;

/**
 * Binds {@linkplain HeadArguments arguments of the head} before the rest of a request is there, by
 * the binders with which Micronaut binds them later.
 */
@Internal
@Singleton
public final class HeadBinder {

  private final RequestBinderRegistry binders;
  private final ConversionService conversions;

  /**
   * @param satisfier has the registry of the server: a route keeps the binders of the first one
   *     that it is asked with, and another registry has other binders of bodies
   */
  HeadBinder(RequestArgumentSatisfier satisfier, ConversionService conversions) {
    this.binders = satisfier.getBinderRegistry();
    this.conversions = conversions;
  }

  /**
   * Binds some arguments of the route of a request.
   *
   * @param positions which ones, from 0
   * @return the arguments, null at other positions; empty if one of them is missing or malformed,
   *     which Micronaut answers when it binds all of them
   */
  public Optional<Object[]> bind(HttpRequest<?> request, Iterable<Integer> positions) {
    RouteMatch<?> match = RouteAttributes.getRouteMatch(request).orElse(null);
    if (match == null || !(match.getRouteInfo() instanceof MethodBasedRouteInfo<?, ?> route)) {
      return Optional.empty();
    }
    Argument<?>[] arguments = route.getTargetMethod().getArguments();
    Map<String, Object> variables =
        match instanceof UriRouteMatch<?, ?> path ? path.getVariableValues() : Map.of();
    Object[] bound = new Object[arguments.length];
    for (int position : positions) {
      Object inPath = variables.get(route.getArgumentNames()[position]);
      @SuppressWarnings("unchecked") // any argument
      Argument<Object> argument = (Argument<Object>) arguments[position];
      Optional<Object> value =
          inPath == null
              ? ofBinder(route, position, argument, request)
              : conversions.convert(inPath, context(argument, request));
      if (value.isEmpty() && !argument.isNullable()) {
        return Optional.empty();
      }
      bound[position] = value.orElse(null);
    }
    return Optional.of(bound);
  }

  private Optional<Object> ofBinder(
      MethodBasedRouteInfo<?, ?> route,
      int position,
      Argument<Object> argument,
      HttpRequest<?> request) {
    RequestArgumentBinder<Object> binder = route.resolveArgumentBinders(binders)[position];
    if (binder == null) {
      return Optional.empty();
    }
    BindingResult<Object> result = binder.bind(context(argument, request), request);
    return result instanceof PendingRequestBindingResult<?>
            || !result.getConversionErrors().isEmpty()
            || !result.isSatisfied()
        ? Optional.empty()
        : result.getValue();
  }

  private static ArgumentConversionContext<Object> context(
      Argument<Object> argument, HttpRequest<?> request) {
    return ConversionContext.of(
        argument, request.getLocale().orElse(null), request.getCharacterEncoding());
  }
}
