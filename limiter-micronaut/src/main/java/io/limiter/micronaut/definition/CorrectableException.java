// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.definition;

import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.annotation.Internal;

/** A mistake of an annotation that settings of its policy could correct. */
@Internal
public final class CorrectableException extends ConfigurationException {

  private static final long serialVersionUID = 1L;

  public CorrectableException(ConfigurationException mistake) {
    super(String.valueOf(mistake.getMessage()));
  }
}
