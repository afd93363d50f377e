// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.micronaut.context.AbstractMessageSource;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.order.Ordered;
import io.micronaut.http.server.util.locale.HttpLocaleResolutionConfiguration;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.util.Locale;
import java.util.Optional;
import java.util.ResourceBundle;
import java.util.Set;

/**
 * The limiter's own messages, in English and Chinese, for keys that no source of the application
 * has. For other languages it uses Chinese if that is the application's default language, else
 * English. A module has its own, as a subclass.
 *
 * <p>The bundles are read once, and this class selects the one for a locale: {@code ResourceBundle}
 * would select Chinese for an English request where that is the JVM's language, and keeps every
 * locale that was ever requested, also those that clients send.
 */
@Internal
@Singleton
public class ShippedMessages extends AbstractMessageSource {

  private static final Set<String> TRADITIONAL = Set.of("TW", "HK", "MO");

  private final ResourceBundle english;
  private final ResourceBundle simplified;
  private final ResourceBundle traditional;
  private final Locale usual;

  @Inject
  ShippedMessages(HttpLocaleResolutionConfiguration configuration) {
    this("io.limiter.micronaut.messages", ShippedMessages.class.getClassLoader(), configuration);
  }

  /**
   * @param bundle the name of bundles in English, Simplified and Traditional Chinese
   */
  protected ShippedMessages(
      String bundle, ClassLoader loader, HttpLocaleResolutionConfiguration configuration) {
    this.english = ResourceBundle.getBundle(bundle, Locale.ROOT, loader);
    this.simplified = ResourceBundle.getBundle(bundle, Locale.SIMPLIFIED_CHINESE, loader);
    this.traditional = ResourceBundle.getBundle(bundle, Locale.TRADITIONAL_CHINESE, loader);
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
        ? Optional.of(bundleFor(context.getLocale()).getString(code))
        : Optional.empty();
  }

  private ResourceBundle bundleFor(Locale asked) {
    Locale locale =
        asked.getLanguage().equals("en") || asked.getLanguage().equals("zh") ? asked : usual;
    if (!locale.getLanguage().equals("zh")) {
      return english;
    }
    return isTraditional(locale) ? traditional : simplified;
  }

  static boolean isTraditional(Locale locale) {
    return locale.getLanguage().equals("zh")
        && (locale.getScript().isEmpty()
            ? TRADITIONAL.contains(locale.getCountry())
            : locale.getScript().equals("Hant"));
  }
}
