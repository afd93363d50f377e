// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.micronaut.context.exceptions.ConfigurationException;

/**
 * Words every mistake in an annotation alike: which method, which member, which value, what to do.
 */
final class PlanErrors {

  private PlanErrors() {}

  static ConfigurationException of(String method, String member, String value, String remedy) {
    return new ConfigurationException("%s: %s = %s: %s".formatted(method, member, value, remedy));
  }
}
