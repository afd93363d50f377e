// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Bounds the locales that message sources are asked for. Java remembers each locale that it was
 * ever asked a resource bundle for, found or not, about 1 kB of memory, and looks for its files
 * once. Who is refused could send a new one with each request.
 */
final class BoundedLocales {

  /** More than there are languages and countries that a service is written for. */
  static final int MOST = 512;

  private static final Set<String> LANGUAGES = Set.of(Locale.getISOLanguages());

  private final Set<Locale> seen = ConcurrentHashMap.newKeySet();

  /**
   * The locale without what no text depends on; once too many different ones came, only its
   * language.
   *
   * @param usual for languages that come too late and have no code of two letters
   */
  Locale bound(Locale locale, Locale usual) {
    Locale plain = seen.contains(locale) ? locale : plain(locale);
    if (seen.contains(plain) || (seen.size() < MOST && seen.add(plain))) {
      return plain;
    }
    return LANGUAGES.contains(plain.getLanguage())
        ? Locale.forLanguageTag(plain.getLanguage())
        : usual;
  }

  private static Locale plain(Locale locale) {
    return new Locale.Builder()
        .setLanguage(locale.getLanguage())
        .setScript(locale.getScript())
        .setRegion(locale.getCountry())
        .build();
  }
}
