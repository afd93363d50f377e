// SPDX-License-Identifier: Apache-2.0
package io.limiter.processor;

import io.limiter.micronaut.annotation.SubjectResolver;
import io.limiter.micronaut.definition.ResultKind;
import io.micronaut.core.annotation.AnnotationClassValue;
import io.micronaut.core.annotation.AnnotationMetadata;
import io.micronaut.core.annotation.AnnotationValue;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.convert.ConversionService;
import io.micronaut.core.expressions.EvaluatedExpressionReference;
import io.micronaut.http.annotation.HttpMethodMapping;
import io.micronaut.inject.ast.ClassElement;
import io.micronaut.inject.ast.Element;
import io.micronaut.inject.ast.ElementQuery;
import io.micronaut.inject.ast.MethodElement;
import io.micronaut.inject.visitor.TypeElementVisitor;
import io.micronaut.inject.visitor.VisitorContext;
import java.lang.annotation.Annotation;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Reports mistakes in {@code @Idempotent} while it is compiled, in the words of the start, which
 * they would stop. The annotation is known by its name: the module that has it is optional.
 */
@Internal
public final class IdempotentVisitor implements TypeElementVisitor<Object, Object> {

  /** The annotation. */
  static final String ANNOTATION = "io.limiter.idempotency.Idempotent";

  private static final String CALLS = "io.limiter.idempotency.IdempotentCalls";

  private static final Duration MIN_TIME = Duration.ofSeconds(1);
  private static final Duration MAX_RETAIN = Duration.ofDays(366);
  private static final Duration MAX_CLAIM = Duration.ofMinutes(10);
  private static final Duration MAX_WAIT = Duration.ofSeconds(30);
  private static final int MIN_STATUS = 400;
  private static final int MAX_STATUS = 499;

  @Override
  public VisitorKind getVisitorKind() {
    return VisitorKind.ISOLATING;
  }

  @Override
  public void visitClass(ClassElement type, VisitorContext context) {
    if (type.isAssignable(Annotation.class)) {
      return; // its mistakes are those of the elements that it is on
    }
    AnnotationMetadata ofType = type.getTargetAnnotationMetadata();
    boolean whole = type.hasStereotype(ANNOTATION);
    boolean declared = ofType.hasDeclaredStereotype(ANNOTATION);
    boolean isNew = declared; // what is wrong with it is reported once, for the first route
    for (MethodElement method :
        type.getEnclosedElements(
            declared ? ElementQuery.ALL_METHODS : ElementQuery.ALL_METHODS.onlyDeclared())) {
      AnnotationMetadata own = method.getMethodAnnotationMetadata();
      boolean itself = own.hasStereotype(ANNOTATION);
      boolean here = method.getDeclaringType().getName().equals(type.getName());
      if (!itself && !whole) {
        continue;
      }
      boolean isRoute = method.hasStereotype(HttpMethodMapping.class) && !method.isStatic();
      Element place = itself && here ? method : type;
      if (!isRoute) {
        if (here && !declared && own.hasDeclaredStereotype(ANNOTATION) && !isOpen(type, method)) {
          fail(method, "it is no route: for other code there is " + CALLS, place, context);
        }
        continue;
      }
      AnnotationValue<?> written = (itself ? own : ofType).getAnnotation(ANNOTATION);
      if (written == null) {
        written = AnnotationValue.builder(ANNOTATION).build();
      }
      boolean isRead = itself ? here && own.hasDeclaredStereotype(ANNOTATION) : isNew;
      if (isRead) {
        mistakes(new SourceMethod(type, method), written)
            .forEach(why -> fail(method, why, place, context));
        isNew &= itself;
      }
      ofResult(new SourceMethod(type, method), !retain(written).isEmpty())
          .ifPresent(why -> fail(method, why, place, context));
    }
  }

  /** Whether a method that overrides it may be a route. */
  private static boolean isOpen(ClassElement type, MethodElement method) {
    return type.isInterface() || type.isAbstract() || method.isAbstract();
  }

  /** For how long responses are kept, as written; empty if they are not. */
  static String retain(AnnotationValue<?> written) {
    return written.stringValue("retain").orElse("24h");
  }

  private static List<String> mistakes(SourceMethod method, AnnotationValue<?> written) {
    List<String> mistakes = new ArrayList<>();
    String retain = retain(written);
    if (!retain.isEmpty()) {
      ofTime("retain", retain, MIN_TIME, MAX_RETAIN).ifPresent(mistakes::add);
    }
    written
        .stringValue("claim")
        .flatMap(claim -> ofTime("claim", claim, MIN_TIME, MAX_CLAIM))
        .ifPresent(mistakes::add);
    written
        .stringValue("maxWait")
        .flatMap(wait -> ofTime("maxWait", wait, Duration.ZERO, MAX_WAIT))
        .ifPresent(mistakes::add);
    for (int status : written.intValues("releaseOn")) {
      if (status < MIN_STATUS || status > MAX_STATUS) {
        mistakes.add(
            "releaseOn has %s: name statuses from %s to %s; a response of 500 and above always frees the key"
                .formatted(status, MIN_STATUS, MAX_STATUS));
      }
    }
    boolean hasResolver =
        written
            .annotationClassValue("resolver")
            .map(AnnotationClassValue::getName)
            .filter(name -> !name.equals(SubjectResolver.class.getName()))
            .isPresent();
    boolean hasHeader = written.stringValue("header").filter(name -> !name.isEmpty()).isPresent();
    Object subject =
        written.getValues().entrySet().stream()
            .filter(member -> "subject".contentEquals(member.getKey()))
            .map(Map.Entry::getValue)
            .findFirst()
            .orElse("");
    String text =
        subject instanceof EvaluatedExpressionReference expression
            ? expression.annotationValue().toString()
            : subject.toString();
    if ((hasHeader ? 1 : 0) + (hasResolver ? 1 : 0) + (text.isEmpty() ? 0 : 1) > 1) {
      mistakes.add("header, resolver and subject each name the owner of a key: keep one of them");
    } else if (!text.isEmpty()
        && (!(subject instanceof EvaluatedExpressionReference) || method.head(text).isEmpty())) {
      mistakes.add(
          "subject = \"%s\": write an expression over arguments of the path, the query, header fields or cookies that are texts, numbers or the like, such as #{account}"
              .formatted(text));
    }
    return mistakes;
  }

  private static Optional<String> ofTime(
      String member, String text, Duration least, Duration most) {
    if (text.contains("${")) {
      return Optional.empty(); // the configuration has it
    }
    Optional<Duration> time = ConversionService.SHARED.convert(text, Duration.class);
    if (time.isEmpty()) {
      return Optional.of(member + " = \"" + text + "\" is no time: write one such as 30s");
    }
    return time.filter(known -> known.compareTo(least) < 0 || known.compareTo(most) > 0)
        .map(
            other ->
                "%s = \"%s\": use %s s to %s s"
                    .formatted(member, text, least.toSeconds(), most.toSeconds()));
  }

  private static Optional<String> ofResult(SourceMethod method, boolean repeats) {
    ResultKind.Type type = method.resultType();
    return switch (method.result()) {
      case VALUE, RESPONSES, UNKNOWN -> Optional.empty();
      case STREAM ->
          Optional.of(
              "it returns %s, a stream: return its items together, such as in a Mono<List<…>>"
                  .formatted(type.description()));
      case WRITTEN_LATER ->
          repeats
              ? Optional.of(
                  "it returns %s, which is produced while it is written and cannot be kept: return a value, or do without repeated responses, by retain = \"\""
                      .formatted(type.description()))
              : Optional.empty();
      case HIDDEN, OF_ITS_CLASS ->
          Optional.of(
              "it returns %s, which does not show when the method ends: return a CompletionStage, a Mono or a value"
                  .formatted(type.description()));
    };
  }

  private static void fail(
      MethodElement method, String why, Element place, VisitorContext context) {
    context.fail("@Idempotent on %s: %s".formatted(description(method), why), place);
  }

  /** As at the start: the types of parameters without their packages. */
  private static String description(MethodElement method) {
    return Arrays.stream(method.getSuspendParameters())
        .map(parameter -> simpleName(parameter.getType()))
        .collect(
            Collectors.joining(
                ",", method.getDeclaringType().getName() + '.' + method.getName() + '(', ")"));
  }

  private static String simpleName(ClassElement type) {
    String name = type.getSimpleName();
    return name.substring(name.lastIndexOf('$') + 1) + "[]".repeat(type.getArrayDimensions());
  }
}
