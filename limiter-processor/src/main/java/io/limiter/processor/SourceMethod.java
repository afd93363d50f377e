// SPDX-License-Identifier: Apache-2.0
package io.limiter.processor;

import io.limiter.core.Verdict;
import io.limiter.micronaut.definition.HeadArguments;
import io.limiter.micronaut.definition.LimitedMethod;
import io.limiter.micronaut.definition.ResultKind;
import io.micronaut.context.annotation.Bean;
import io.micronaut.context.annotation.Factory;
import io.micronaut.core.annotation.AnnotationMetadata;
import io.micronaut.core.annotation.AnnotationUtil;
import io.micronaut.http.annotation.HttpMethodMapping;
import io.micronaut.inject.annotation.AnnotationMetadataHierarchy;
import io.micronaut.inject.ast.ClassElement;
import io.micronaut.inject.ast.MethodElement;
import io.micronaut.inject.ast.ParameterElement;
import java.net.URI;
import java.time.temporal.TemporalAccessor;
import java.time.temporal.TemporalAmount;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;

/**
 * A limited method in a source file. What an overriding method changes is unknown for an abstract
 * method, and nothing is known about the methods of a bean that a factory creates.
 */
record SourceMethod(ClassElement type, MethodElement method) implements LimitedMethod {

  /** Types of which Micronaut makes values from texts by its own converters. */
  private static final List<Class<?>> PLAIN =
      List.of(
          Boolean.class,
          Character.class,
          CharSequence.class,
          Enum.class,
          Locale.class,
          Number.class,
          TemporalAccessor.class,
          TemporalAmount.class,
          URI.class,
          UUID.class);

  @Override
  public String description() {
    return describe(method);
  }

  /** Describes a method like the start does, where this is the text of an executable method. */
  static String describe(MethodElement method) {
    return Arrays.stream(method.getSuspendParameters())
        .map(parameter -> typeName(parameter.getType()))
        .collect(
            Collectors.joining(
                ",", method.getDeclaringType().getName() + "." + method.getName() + "(", ")"));
  }

  private static String typeName(ClassElement type) {
    return type.getName() + "[]".repeat(type.getArrayDimensions());
  }

  @Override
  public String name() {
    return method.getName();
  }

  @Override
  public boolean isOf(String of) {
    return type.isAssignable(of);
  }

  @Override
  public AnnotationMetadata annotations() {
    return new AnnotationMetadataHierarchy(
        type.getTargetAnnotationMetadata(),
        method.getMethodAnnotationMetadata().getTargetAnnotationMetadata());
  }

  /** Whether the method that is called may have other types than this one. */
  private boolean isOpen() {
    return method.isAbstract() || type.isInterface() || makesBean();
  }

  private boolean makesBean() {
    return type.hasDeclaredAnnotation(Factory.class)
        && (method.hasStereotype(Bean.class) || method.hasStereotype(AnnotationUtil.SCOPE));
  }

  @Override
  public boolean isOfObject() {
    ParameterElement[] parameters = method.getParameters();
    return switch (method.getName()) {
      case "toString", "hashCode" -> parameters.length == 0;
      case "equals" ->
          parameters.length == 1
              && parameters[0].getType().getName().equals(Object.class.getName());
      default -> false;
    };
  }

  @Override
  public boolean isRoute() {
    return isOpen() || method.hasStereotype(HttpMethodMapping.class);
  }

  @Override
  public ResultKind result() {
    return isOpen() ? ResultKind.UNKNOWN : ResultKind.of(resultType(), method);
  }

  @Override
  public ResultType resultType() {
    return new ResultType(method.getGenericReturnType());
  }

  @Override
  public boolean takesVerdict() {
    return Arrays.stream(method.getParameters()).anyMatch(SourceMethod::isVerdict);
  }

  private static boolean isVerdict(ParameterElement parameter) {
    return parameter.getType().getName().equals(Verdict.class.getName());
  }

  /** Of an open method that is not known, so the start judges it. */
  @Override
  public Optional<Set<Integer>> head(String expression) {
    return isOpen()
        ? Optional.of(Set.of())
        : HeadArguments.of(
            annotations(),
            Arrays.stream(method.getSuspendParameters())
                .map(
                    parameter ->
                        new HeadArguments.Parameter(
                            parameter.getName(), isPlain(parameter.getType()), parameter))
                .toList(),
            expression);
  }

  private static boolean isPlain(ClassElement type) {
    return !type.isArray() && (type.isPrimitive() || PLAIN.stream().anyMatch(type::isAssignable));
  }

  @Override
  public Optional<List<Parameter>> parameters() {
    return isOpen()
        ? Optional.empty()
        : Optional.of(
            Arrays.stream(method.getSuspendParameters()).<Parameter>map(OfSource::new).toList());
  }

  /** The type of what it returns. */
  private record ResultType(ClassElement type) implements ResultKind.Type {

    @Override
    public String name() {
      return type.getName();
    }

    @Override
    public boolean is(Set<String> names) {
      return names.stream().anyMatch(type::isAssignable);
    }

    @Override
    public Optional<ResultType> argument() {
      return type.getFirstTypeArgument().map(ResultType::new);
    }
  }

  /** A parameter. What the request contains matters only where no mistake is possible. */
  private record OfSource(ParameterElement element) implements Parameter {

    @Override
    public String name() {
      return element.getName();
    }

    @Override
    public boolean isFilled() {
      return false;
    }

    @Override
    public LimitedMethod.Value value() {
      ClassElement type = element.getType();
      return LimitedMethod.Value.of(
          type.isArray(), name -> !type.isPrimitive() && type.isAssignable(name));
    }

    @Override
    public boolean isCompared() {
      return !isVerdict(element) && !element.getType().getName().equals(CONTINUATION);
    }

    @Override
    public Optional<String> obstacle() {
      return DigestibleElements.indigestiblePart(element.getGenericType());
    }
  }
}
