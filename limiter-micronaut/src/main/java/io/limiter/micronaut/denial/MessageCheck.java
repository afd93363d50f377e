// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.limiter.core.Outcome;
import io.limiter.micronaut.config.DenialConfiguration;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.exceptions.ConfigurationException;

/** Checks the configured messages at the start, which an unusable message stops. */
@Context
final class MessageCheck {

  MessageCheck(DenialConfiguration configuration, DenialMessages messages) {
    check(configuration, messages, Outcome.LIMITED, "message");
    check(configuration, messages, Outcome.BANNED, "banned-message");
    check(configuration, messages, Outcome.DUPLICATE, "duplicate-message");
    check(configuration, messages, Outcome.UNAVAILABLE, "unavailable-message");
    check(messages, configuration.tooCostlyMessage(), "too-costly-message");
  }

  private static void check(
      DenialConfiguration configuration,
      DenialMessages messages,
      Outcome outcome,
      String property) {
    check(messages, configuration.answer(outcome).message(), property);
  }

  private static void check(DenialMessages messages, String message, String property) {
    try {
      messages.requireUsable(message);
    } catch (IllegalArgumentException e) {
      throw new ConfigurationException(
          "%s.%s = %s: %s".formatted(DenialConfiguration.PREFIX, property, message, e.getMessage()),
          e);
    }
  }
}
