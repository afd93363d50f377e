// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

/** What makes two submissions of one subject to one method duplicates. */
public enum DuplicateBy {
  /**
   * The default: {@link #ARGUMENTS} where the caller provides at least one argument and JSON can
   * represent all arguments that it provides, else {@link #CALLER}. Routes that are decided before
   * security use {@code CALLER}. The log lists at the start what was chosen for which method.
   *
   * <p>The caller of a route provides what comes from the body, the path, the query, a form, or a
   * header or cookie that an annotation names. Values from Micronaut, a filter or an argument
   * binder of the application are not compared: the request, its headers, parameters and cookies as
   * a whole, the principal, the verdict, {@code @RequestAttribute}, {@code @SessionValue}. The
   * caller of any other method provides all its arguments except such objects.
   */
  AUTO,
  /** They come from the same subject, whatever their content. */
  CALLER,
  /**
   * They come from the same subject and their arguments are equal as JSON, whatever the order of
   * its members. The guard decides this around the method, after the body was read; the gate does
   * not.
   */
  ARGUMENTS
}
