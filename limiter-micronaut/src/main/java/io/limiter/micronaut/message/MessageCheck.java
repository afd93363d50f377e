// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.message;

import io.limiter.core.Outcome;
import io.limiter.micronaut.config.DenialConfiguration;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.exceptions.ConfigurationException;

/** A configured message that cannot be told stops the start. */
@Context
final class MessageCheck {

  MessageCheck(DenialConfiguration configuration, DenialMessages messages) {
    check(configuration, messages, Outcome.LIMITED, "message");
    check(configuration, messages, Outcome.DUPLICATE, "duplicate-message");
    check(configuration, messages, Outcome.UNAVAILABLE, "unavailable-message");
  }

  private static void check(
      DenialConfiguration configuration,
      DenialMessages messages,
      Outcome outcome,
      String property) {
    String message = configuration.answer(outcome).message();
    try {
      messages.requireUsable(message);
    } catch (IllegalArgumentException e) {
      throw new ConfigurationException(
          "%s.%s = %s: %s".formatted(DenialConfiguration.PREFIX, property, message, e.getMessage()),
          e);
    }
  }
}
