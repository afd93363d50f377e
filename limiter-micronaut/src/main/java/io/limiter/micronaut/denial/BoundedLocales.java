// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Bounds the number of locales that are passed to message sources. Java caches every locale for
 * which a resource bundle was requested, found or not, at about 1 kB each, and searches for its
 * files once. A denied client could send a new locale with each request.
 */
final class BoundedLocales {

  /** More than the languages and countries that any service supports. */
  static final int MOST = 512;

  private static final Set<String> LANGUAGES = Set.of(Locale.getISOLanguages());

  private final Set<Locale> seen = ConcurrentHashMap.newKeySet();

  /**
   * The locale without the parts that no text depends on; after too many different locales, only
   * its language.
   *
   * @param usual the locale for languages without a two-letter code, once the bound is reached
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
