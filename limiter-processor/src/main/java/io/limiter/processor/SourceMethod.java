// SPDX-License-Identifier: Apache-2.0
package io.limiter.processor;

import io.limiter.core.Verdict;
import io.limiter.micronaut.definition.LimitedMethod;
import io.micronaut.context.annotation.Bean;
import io.micronaut.context.annotation.Factory;
import io.micronaut.core.annotation.AnnotationMetadata;
import io.micronaut.core.annotation.AnnotationUtil;
import io.micronaut.http.annotation.HttpMethodMapping;
import io.micronaut.inject.annotation.AnnotationMetadataHierarchy;
import io.micronaut.inject.ast.ClassElement;
import io.micronaut.inject.ast.MethodElement;
import io.micronaut.inject.ast.ParameterElement;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.stream.Collectors;

/**
 * A limited method in a source file. What an overriding method changes is unknown for an abstract
 * method, and nothing is known about the methods of a bean that a factory creates.
 */
record SourceMethod(ClassElement type, MethodElement method) implements LimitedMethod {

  private static final Set<String> STREAMS =
      Set.of(
          "reactor.core.publisher.Flux",
          "io.reactivex.rxjava3.core.Flowable",
          "kotlinx.coroutines.flow.Flow");

  private static final Set<String> FILES =
      Set.of(
          "java.io.File",
          "java.io.InputStream",
          "io.micronaut.http.server.types.files.FileCustomizableResponseType");

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
  public Optional<String> hiddenCompletion() {
    ClassElement result = method.getReturnType();
    boolean hidden =
        (result.isAssignable(Future.class) && !result.isAssignable(CompletionStage.class))
            || HIDE_COMPLETION.contains(result.getName());
    return hidden && !isOpen() && !method.isSuspend()
        ? Optional.of(result.getName())
        : Optional.empty();
  }

  @Override
  public boolean streams() {
    return !isOpen()
        && STREAMS.contains(method.getReturnType().getName())
        && !method.hasStereotype("io.micronaut.core.async.annotation.SingleResult");
  }

  @Override
  public boolean returnsFile() {
    return !isOpen() && isFile(method.getReturnType());
  }

  private static boolean isFile(ClassElement result) {
    return FILES.stream().anyMatch(result::isAssignable)
        || result.getTypeArguments().values().stream().anyMatch(SourceMethod::isFile);
  }

  @Override
  public boolean takesVerdict() {
    return Arrays.stream(method.getParameters()).anyMatch(SourceMethod::isVerdict);
  }

  private static boolean isVerdict(ParameterElement parameter) {
    return parameter.getType().getName().equals(Verdict.class.getName());
  }

  @Override
  public Optional<List<Parameter>> parameters() {
    return isOpen()
        ? Optional.empty()
        : Optional.of(
            Arrays.stream(method.getSuspendParameters()).<Parameter>map(OfSource::new).toList());
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
    public boolean isCompared() {
      return !isVerdict(element) && !element.getType().getName().equals(CONTINUATION);
    }

    @Override
    public Optional<String> obstacle() {
      return DigestibleElements.indigestiblePart(element.getGenericType());
    }
  }
}
