// SPDX-License-Identifier: Apache-2.0
package io.limiter.processor;

import io.micronaut.annotation.processing.visitor.JavaNativeElement;
import io.micronaut.annotation.processing.visitor.JavaVisitorContext;
import io.micronaut.inject.ast.Element;
import io.micronaut.inject.visitor.VisitorContext;
import java.util.Arrays;

/**
 * The options of a developer: {@code @SuppressWarnings("limiter")} on an element or around it, and
 * options such as {@code -Alimiter.warnings=false}. They are read from javac itself: Micronaut does
 * not keep that annotation, and keeps its own options as system properties, where the next
 * compilation of a build tool would find them.
 */
final class CompilerOptions {

  /** The option that silences all warnings, if it is false. */
  static final String WARNINGS = "limiter.warnings";

  /** The option that leaves limits out of OpenAPI documents, if it is false. */
  static final String OPENAPI = "limiter.openapi";

  private static final String NAME = "limiter";

  private CompilerOptions() {}

  /** Whether warnings about an element are silenced. */
  static boolean silence(Element element, VisitorContext context) {
    return context.getLanguage() == VisitorContext.Language.JAVA
        && OfJavac.suppresses(element, context);
  }

  /** Whether a part of this processor is switched off. */
  static boolean isOff(String option, VisitorContext context) {
    return context.getLanguage() == VisitorContext.Language.JAVA && OfJavac.isOff(option, context);
  }

  /** Loaded by javac only. */
  private static final class OfJavac {

    static boolean isOff(String option, VisitorContext context) {
      return context instanceof JavaVisitorContext javac
          && "false".equals(javac.getProcessingEnv().getOptions().get(option));
    }

    static boolean suppresses(Element element, VisitorContext context) {
      if (isOff(WARNINGS, context)) {
        return true;
      }
      if (!(element.getNativeType() instanceof JavaNativeElement known)) {
        return false;
      }
      for (javax.lang.model.element.Element each = known.element();
          each != null;
          each = each.getEnclosingElement()) {
        SuppressWarnings suppressed = each.getAnnotation(SuppressWarnings.class);
        if (suppressed != null && Arrays.asList(suppressed.value()).contains(NAME)) {
          return true;
        }
      }
      return false;
    }
  }
}
