// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import io.micronaut.core.annotation.Internal;
import io.micronaut.core.type.Argument;
import java.util.Optional;

/** The types that the application's JSON mapper can write, where that is known without a value. */
@Internal
@FunctionalInterface
public interface WritableTypes {

  /** The reason why values of this type cannot be written; empty if they can. */
  Optional<String> unwritablePart(Argument<?> argument);
}
