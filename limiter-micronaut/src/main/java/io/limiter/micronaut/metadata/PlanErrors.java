// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.micronaut.context.exceptions.ConfigurationException;

/**
 * Formats every mistake in an annotation in the same way: the method, the member, its value and the
 * remedy.
 */
final class PlanErrors {

  private PlanErrors() {}

  static ConfigurationException of(String method, String member, String value, String remedy) {
    return new ConfigurationException("%s: %s = %s: %s".formatted(method, member, value, remedy));
  }
}
