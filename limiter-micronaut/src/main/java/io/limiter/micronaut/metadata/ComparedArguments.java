// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.core.Verdict;
import io.limiter.micronaut.plan.Submission;
import io.limiter.micronaut.plan.VerdictArguments;
import io.limiter.micronaut.subject.DigestibleTypes;
import io.limiter.micronaut.subject.WritableTypes;
import io.micronaut.context.BeanContext;
import io.micronaut.core.bind.annotation.Bindable;
import io.micronaut.core.type.Argument;
import io.micronaut.core.util.SupplierUtil;
import io.micronaut.http.HttpHeaders;
import io.micronaut.http.HttpParameters;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.HttpMethodMapping;
import io.micronaut.http.annotation.RequestAttribute;
import io.micronaut.http.bind.binders.AnnotatedRequestArgumentBinder;
import io.micronaut.http.bind.binders.NonBlockingBodyArgumentBinder;
import io.micronaut.http.bind.binders.TypedRequestArgumentBinder;
import io.micronaut.http.cookie.Cookie;
import io.micronaut.http.cookie.Cookies;
import io.micronaut.inject.ExecutableMethod;
import jakarta.inject.Singleton;
import java.lang.annotation.Annotation;
import java.security.Principal;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Finds the arguments by which submissions to a method are compared. */
@Singleton
final class ComparedArguments {

  /** What Micronaut makes of a request, and what this limiter passes. */
  private static final List<Class<?>> PROVIDED =
      List.of(
          HttpRequest.class,
          HttpHeaders.class,
          HttpParameters.class,
          Cookies.class,
          Cookie.class,
          Principal.class,
          Verdict.class);

  private static final String CONTINUATION = "kotlin.coroutines.Continuation";

  /** The same, named because few services have them. */
  private static final List<String> PROVIDED_NAMES =
      List.of(CONTINUATION, "io.micronaut.websocket.WebSocketSession");

  private static final String HTTP_ANNOTATIONS = Body.class.getPackageName();

  private final BeanContext beans;

  /** Read of the binders' definitions: to create the binders here would be too early. */
  private final Supplier<List<Argument<?>>> typesOfBinders;

  ComparedArguments(BeanContext beans) {
    this.beans = beans;
    typesOfBinders = SupplierUtil.memoized(() -> typesOfBinders(beans));
  }

  /**
   * What the default of duplicateBy chooses for a method.
   *
   * @param written the choice and its reason, for the log
   */
  record Choice(Submission submission, String written) {}

  /** Compares all arguments that the caller fills, if there are any and JSON can hold them. */
  Choice choose(ExecutableMethod<?, ?> method) {
    Argument<?>[] arguments = method.getArguments();
    List<Integer> filled =
        IntStream.range(0, arguments.length)
            .filter(i -> isFilled(method, arguments[i]))
            .boxed()
            .toList();
    if (filled.isEmpty()) {
      return new Choice(new Submission.ByCaller(), "CALLER (the caller fills no argument)");
    }
    return filled.stream()
        .flatMap(
            i ->
                obstacle(arguments[i]).stream()
                    .map(
                        part ->
                            "CALLER ('%s' cannot be compared because of %s)"
                                .formatted(arguments[i].getName(), part)))
        .findFirst()
        .map(reason -> new Choice(new Submission.ByCaller(), reason))
        .orElseGet(
            () ->
                new Choice(
                    new Submission.ByArguments(filled),
                    filled.stream()
                        .map(i -> arguments[i].getName())
                        .collect(Collectors.joining(", ", "ARGUMENTS (", ")"))));
  }

  /** All arguments, but the verdict and what Kotlin adds. Refuses those that JSON cannot hold. */
  Submission.ByArguments all(AnnotationMembers limiter, ExecutableMethod<?, ?> method) {
    Argument<?>[] arguments = method.getArguments();
    if (arguments.length == 0) {
      throw limiter.error(
          "duplicateBy", "ARGUMENTS", "the method has no arguments: use DuplicateBy.CALLER");
    }
    List<Integer> compared =
        IntStream.range(0, arguments.length)
            .filter(
                i ->
                    !VerdictArguments.takesVerdict(arguments[i])
                        && !arguments[i].getType().getName().equals(CONTINUATION))
            .boxed()
            .toList();
    for (int i : compared) {
      obstacle(arguments[i])
          .ifPresent(
              part -> {
                throw limiter.error(
                    "duplicateBy",
                    "ARGUMENTS",
                    "the parameter '%s' cannot be digested because of %s: make it plain data or an @Introspected type, take it out of the method, or use DuplicateBy.CALLER"
                        .formatted(arguments[i].getName(), part));
              });
    }
    return new Submission.ByArguments(compared);
  }

  /** The part of an argument that cannot be compared, as far as its type shows. */
  private Optional<String> obstacle(Argument<?> argument) {
    return DigestibleTypes.indigestiblePart(argument)
        .or(
            () ->
                beans
                    .findBean(WritableTypes.class)
                    .flatMap(types -> types.unwritablePart(argument)));
  }

  /** Whether the value is the caller's; for a route that is what the request says. */
  private boolean isFilled(ExecutableMethod<?, ?> method, Argument<?> argument) {
    Class<?> type = argument.getType();
    if (PROVIDED.stream().anyMatch(provided -> provided.isAssignableFrom(type))
        || PROVIDED_NAMES.contains(type.getName())) {
      return false;
    }
    if (!method.hasStereotype(HttpMethodMapping.class)) {
      return true;
    }
    Optional<Class<? extends Annotation>> source =
        argument.getAnnotationMetadata().getAnnotationTypeByStereotype(Bindable.class);
    return source.isPresent()
        ? source.get() != RequestAttribute.class
            && source.get().getPackageName().equals(HTTP_ANNOTATIONS)
        : typesOfBinders.get().stream()
            .noneMatch(
                bound ->
                    bound.equalsType(argument)
                        || bound.equalsType(Argument.of(argument.getType())));
  }

  /** The types that a binder provides where no annotation says from where; not the body's. */
  @SuppressWarnings("rawtypes") // as the bean type is
  private static List<Argument<?>> typesOfBinders(BeanContext beans) {
    return beans.getBeanDefinitions(TypedRequestArgumentBinder.class).stream()
        .filter(
            binder -> !NonBlockingBodyArgumentBinder.class.isAssignableFrom(binder.getBeanType()))
        .filter(
            binder -> !AnnotatedRequestArgumentBinder.class.isAssignableFrom(binder.getBeanType()))
        .flatMap(binder -> binder.getTypeArguments(TypedRequestArgumentBinder.class).stream())
        .<Argument<?>>map(bound -> bound)
        .toList();
  }
}
