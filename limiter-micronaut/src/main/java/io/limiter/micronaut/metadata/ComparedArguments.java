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

  /** Types of arguments that Micronaut derives from a request or that this limiter passes. */
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

  /** Further such types, by name, since few services have them. */
  private static final List<String> PROVIDED_NAMES =
      List.of(CONTINUATION, "io.micronaut.websocket.WebSocketSession");

  private static final String HTTP_ANNOTATIONS = Body.class.getPackageName();

  private final BeanContext beans;

  /** Read from the binders' definitions: it would be too early to create the binders here. */
  private final Supplier<List<Argument<?>>> typesOfBinders;

  ComparedArguments(BeanContext beans) {
    this.beans = beans;
    typesOfBinders = SupplierUtil.memoized(() -> typesOfBinders(beans));
  }

  /**
   * What the default of duplicate.by chooses for a method.
   *
   * @param written the choice and its reason, for the log
   */
  record Choice(Submission submission, String written) {}

  /**
   * Compares all arguments that the caller provides, if there are any and JSON can represent them.
   */
  Choice choose(ExecutableMethod<?, ?> method) {
    Argument<?>[] arguments = method.getArguments();
    List<Integer> filled =
        IntStream.range(0, arguments.length)
            .filter(i -> isFilled(method, arguments[i]))
            .boxed()
            .toList();
    if (filled.isEmpty()) {
      return new Choice(new Submission.ByCaller(), "CALLER (the caller provides no argument)");
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

  /**
   * All arguments except the verdict and those that Kotlin adds. Rejects arguments that JSON cannot
   * represent.
   */
  Submission.ByArguments all(AnnotationMembers limiter, ExecutableMethod<?, ?> method) {
    Argument<?>[] arguments = method.getArguments();
    if (arguments.length == 0) {
      throw limiter.error("by", "ARGUMENTS", "the method has no arguments: use DuplicateBy.CALLER");
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
                    "by",
                    "ARGUMENTS",
                    "the parameter '%s' cannot be digested because of %s: make it plain data or an @Introspected type, remove it from the method, or use DuplicateBy.CALLER"
                        .formatted(arguments[i].getName(), part));
              });
    }
    return new Submission.ByArguments(compared);
  }

  /** The part of an argument that cannot be compared, judging by its type. */
  private Optional<String> obstacle(Argument<?> argument) {
    return DigestibleTypes.indigestiblePart(argument)
        .or(
            () ->
                beans
                    .findBean(WritableTypes.class)
                    .flatMap(types -> types.unwritablePart(argument)));
  }

  /** Whether the caller provides the value; for a route, whether the request contains it. */
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

  /** The types that a binder provides without an annotation, except the body. */
  @SuppressWarnings("rawtypes") // raw, as the bean type
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
