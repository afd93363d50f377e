// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

/** What makes two submissions of one caller to one method the same. */
public enum DuplicateBy {
  /** They come from the same caller, whatever they hold. */
  CALLER,
  /**
   * They come from the same caller and their arguments are equal as JSON, whatever the order of its
   * members.
   */
  ARGUMENTS
}
