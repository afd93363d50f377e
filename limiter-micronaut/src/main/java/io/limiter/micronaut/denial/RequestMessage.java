// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.micronaut.context.MessageSource;
import java.util.Locale;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The context in which message sources are queried. The arguments are computed only if the message
 * has some.
 */
final class RequestMessage implements MessageSource.MessageContext {

  private final Locale asked;
  private final Locale bounded;
  private final Supplier<Map<String, Object>> arguments;

  /**
   * @param asked the locale of the request
   * @param bounded the same or a substitute, for the application's sources
   */
  RequestMessage(Locale asked, Locale bounded, Supplier<Map<String, Object>> arguments) {
    this.asked = asked;
    this.bounded = bounded;
    this.arguments = arguments;
  }

  Locale asked() {
    return asked;
  }

  @Override
  public Locale getLocale() {
    return bounded;
  }

  @Override
  public Locale getLocale(@Nullable Locale ignored) {
    return bounded;
  }

  @Override
  public Map<String, Object> getVariables() {
    return arguments.get();
  }
}
