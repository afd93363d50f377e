// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.micronaut.definition.HeadArguments;
import io.limiter.micronaut.exception.InvalidCallException.MissingSubjectException;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.bind.ArgumentBinder.BindingResult;
import io.micronaut.core.bind.annotation.Bindable;
import io.micronaut.core.convert.ArgumentConversionContext;
import io.micronaut.core.convert.ConversionContext;
import io.micronaut.core.convert.ConversionService;
import io.micronaut.core.type.Argument;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.MediaType;
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
   * @throws MissingSubjectException if Micronaut would read one from a form
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
      ArgumentConversionContext<Object> context =
          ConversionContext.of(
              argument, request.getLocale().orElse(null), request.getCharacterEncoding());
      Optional<Object> value;
      boolean unbound;
      if (inPath == null && isOfForm(argument, request)) {
        value = request.getParameters().get(argument.getName(), context);
        unbound = context.getLastError().isPresent();
        if (value.isEmpty() && !unbound) {
          throw new MissingSubjectException(
              "The argument '%s' decides about a limit before a form is read: send it in the query"
                  .formatted(argument.getName()));
        }
      } else if (inPath == null) {
        RequestArgumentBinder<Object> binder = route.resolveArgumentBinders(binders)[position];
        BindingResult<Object> result =
            binder == null ? BindingResult.unsatisfied() : binder.bind(context, request);
        boolean pending = result instanceof PendingRequestBindingResult<?>;
        unbound = pending || !result.getConversionErrors().isEmpty();
        value = unbound || !result.isSatisfied() ? Optional.empty() : result.getValue();
      } else {
        value = conversions.convert(inPath, context);
        unbound = context.getLastError().isPresent();
      }
      if (unbound || (value.isEmpty() && !argument.isNullable())) {
        return Optional.empty();
      }
      bound[position] = value.orElse(null);
    }
    return Optional.of(bound);
  }

  /**
   * Micronaut binds an argument without an annotation to the query, else to a field of a form, and
   * its binder would claim that field.
   */
  private static boolean isOfForm(Argument<?> argument, HttpRequest<?> request) {
    return !argument.getAnnotationMetadata().hasStereotype(Bindable.class)
        && request
            .getContentType()
            .filter(
                type ->
                    type.matches(MediaType.APPLICATION_FORM_URLENCODED_TYPE)
                        || type.matches(MediaType.MULTIPART_FORM_DATA_TYPE))
            .isPresent();
  }
}
