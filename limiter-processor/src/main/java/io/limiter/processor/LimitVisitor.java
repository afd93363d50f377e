// SPDX-License-Identifier: Apache-2.0
package io.limiter.processor;

import io.limiter.micronaut.annotation.Limited;
import io.limiter.micronaut.plan.LimitPlan;
import io.micronaut.context.annotation.Bean;
import io.micronaut.context.annotation.DefaultScope;
import io.micronaut.context.annotation.Executable;
import io.micronaut.core.annotation.AnnotationUtil;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.naming.NameUtils;
import io.micronaut.inject.ast.ClassElement;
import io.micronaut.inject.ast.Element;
import io.micronaut.inject.ast.ElementQuery;
import io.micronaut.inject.ast.MethodElement;
import io.micronaut.inject.visitor.TypeElementVisitor;
import io.micronaut.inject.visitor.VisitorContext;
import java.lang.annotation.Annotation;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;

/**
 * Reports mistakes in limits while they are compiled. Errors are mistakes with which the
 * application would not start, whatever its configuration; warnings are about what is probably
 * unintended.
 */
@Internal
public final class LimitVisitor implements TypeElementVisitor<Object, Object> {

  private static final String SECURITY = "io.micronaut.security.authentication.Authentication";

  /** One for each compilation: a build tool uses one visitor for many, some at the same time. */
  private final Map<VisitorContext, State> states =
      Collections.synchronizedMap(new WeakHashMap<>());

  /**
   * What belongs to one compilation.
   *
   * @param reported what has been reported: a mistake on a class is that of each of its methods
   */
  private record State(CompileTimeCheck check, Set<String> reported) {

    /** What is wrong with a class is reported once, for the first of its methods. */
    boolean isNew(String text, String method, Element place) {
      String mistake = place instanceof ClassElement ? text.substring(method.length()) : text;
      return reported.add(place.getName() + ' ' + mistake);
    }
  }

  private State state(VisitorContext context) {
    return states.computeIfAbsent(
        context, any -> new State(new CompileTimeCheck(), new HashSet<>()));
  }

  @Override
  public VisitorKind getVisitorKind() {
    return VisitorKind.ISOLATING;
  }

  @Override
  public Set<String> getSupportedOptions() {
    return Set.of(CompilerOptions.WARNINGS);
  }

  @Override
  public void visitClass(ClassElement type, VisitorContext context) {
    if (type.isAssignable(Annotation.class)) {
      return; // its limits are those of the methods that it is on
    }
    boolean whole = type.hasStereotype(Limited.class);
    List<MethodElement> methods =
        type.getEnclosedElements(
            whole ? ElementQuery.ALL_METHODS : ElementQuery.ALL_METHODS.onlyDeclared());
    boolean limited = false;
    for (MethodElement method : methods) {
      boolean itself = method.getMethodAnnotationMetadata().hasStereotype(Limited.class);
      boolean own = method.getDeclaringType().getName().equals(type.getName());
      if (method.isStatic()) {
        if (itself && own) {
          context.fail(ofStatic(method), method);
        }
      } else if ((itself || whole) && !method.isPrivate()) {
        limited |= itself && own;
        check(new SourceMethod(type, method), own && itself ? method : type, context);
      }
    }
    if (limited && !whole && !isBean(type)) {
      warn(
          type.getName()
              + ": its limits have no effect, since the class is not a bean: add a scope, such as @Singleton. If a @Factory method creates it, put the limits on that method",
          "",
          type,
          context);
    }
  }

  private static String ofStatic(MethodElement method) {
    String annotation =
        method
            .getMethodAnnotationMetadata()
            .getAnnotationNameByStereotype(Limited.class)
            .map(NameUtils::getSimpleName)
            .orElse("RateRule");
    return CompileTimeCheck.ofStatic(SourceMethod.describe(method), annotation);
  }

  /**
   * @param place where findings are reported
   */
  private void check(SourceMethod method, Element place, VisitorContext context) {
    State state = state(context);
    CompileTimeCheck.Findings found;
    try {
      found = state.check().check(method);
    } catch (RuntimeException unreadable) { // the start reads it once more
      warn(
          "%s: its limits cannot be checked: %s".formatted(method.description(), unreadable),
          method.description(),
          place,
          context);
      return;
    }
    found
        .error()
        .filter(error -> state.isNew(error, method.description(), place))
        .ifPresent(error -> context.fail(error, place));
    found.warnings().forEach(warning -> warn(warning, method.description(), place, context));
    if (found.plan().filter(LimitPlan::countsUsers).isPresent()
        && context.getClassElement(SECURITY).isEmpty()) {
      warn(
          method.description()
              + ": limitType = USER_ID: micronaut-security is not on the class path. If no filter of the application sets the principal of a request before the gate decides, all callers are counted by address: add micronaut-security, or set the principal in a filter with @Order(39000)",
          method.description(),
          place,
          context);
    }
  }

  private void warn(String text, String method, Element place, VisitorContext context) {
    if (!CompilerOptions.silence(place, context) && state(context).isNew(text, method, place)) {
      context.warn(text, place);
    }
  }

  /** Whether Micronaut makes a bean of the class because of its own annotations. */
  private static boolean isBean(ClassElement type) {
    return type.isAbstract()
        || type.isInterface()
        || type.hasDeclaredStereotype(Bean.class)
        || type.hasStereotype(AnnotationUtil.SCOPE)
        || type.hasStereotype(DefaultScope.class)
        || type.hasStereotype(Executable.class)
        || type.hasStereotype(AnnotationUtil.QUALIFIER)
        || type.hasStereotype("io.micronaut.context.annotation.Factory")
        || type.getPrimaryConstructor()
            .filter(constructor -> constructor.hasStereotype(AnnotationUtil.INJECT))
            .isPresent()
        || !type.getEnclosedElements(
                ElementQuery.ALL_FIELDS.annotated(
                    field -> field.hasStereotype(AnnotationUtil.INJECT)))
            .isEmpty()
        || !type.getEnclosedElements(
                ElementQuery.ALL_METHODS.annotated(
                    method -> method.hasStereotype(AnnotationUtil.INJECT)))
            .isEmpty();
  }
}
