// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.micronaut.context.AbstractMessageSource;
import io.micronaut.context.MessageSource;
import io.micronaut.core.order.Ordered;
import io.micronaut.http.server.util.locale.HttpLocaleResolutionConfiguration;
import jakarta.inject.Singleton;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.ResourceBundle;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The limiter's own messages, in English and Chinese, for keys that no source of the application
 * has. For other languages it uses Chinese if that is the application's default language, else
 * English.
 *
 * <p>The bundles are read once, and this class selects the one for a locale: {@code ResourceBundle}
 * would select Chinese for an English request where that is the JVM's language, and keeps every
 * locale that was ever requested, also those that clients send.
 */
@Singleton
final class ShippedMessages extends AbstractMessageSource {

  private static final String BUNDLE = "io.limiter.micronaut.messages";
  private static final Set<String> TRADITIONAL = Set.of("TW", "HK", "MO");

  private final ResourceBundle english = bundle(Locale.ROOT);
  private final ResourceBundle simplified = bundle(Locale.SIMPLIFIED_CHINESE);
  private final ResourceBundle traditional = bundle(Locale.TRADITIONAL_CHINESE);
  private final Locale usual;

  ShippedMessages(HttpLocaleResolutionConfiguration configuration) {
    this.usual = configuration.getDefaultLocale();
  }

  /** After all sources of the application. */
  @Override
  public int getOrder() {
    return Ordered.LOWEST_PRECEDENCE;
  }

  @Override
  public Optional<String> getRawMessage(String code, MessageContext context) {
    // The English bundle, the last one, has all keys.
    return english.containsKey(code)
        ? Optional.of(bundleFor(asked(context)).getString(code))
        : Optional.empty();
  }

  /** The unbounded locale of the request: querying this source caches nothing. */
  private static Locale asked(MessageContext context) {
    return context instanceof RequestMessage request ? request.asked() : context.getLocale();
  }

  private ResourceBundle bundleFor(Locale asked) {
    Locale locale =
        asked.getLanguage().equals("en") || asked.getLanguage().equals("zh") ? asked : usual;
    if (!locale.getLanguage().equals("zh")) {
      return english;
    }
    boolean old =
        locale.getScript().isEmpty()
            ? TRADITIONAL.contains(locale.getCountry())
            : locale.getScript().equals("Hant");
    return old ? traditional : simplified;
  }

  private static ResourceBundle bundle(Locale locale) {
    return ResourceBundle.getBundle(BUNDLE, locale, ShippedMessages.class.getClassLoader());
  }

  /**
   * The context in which message sources are queried. The arguments are computed only if the
   * message has some.
   */
  static final class RequestMessage implements MessageSource.MessageContext {

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
}
