// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.micronaut.core.util.LocaleResolver;
import io.micronaut.http.HttpHeaders;
import io.micronaut.http.HttpRequest;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The language of a request: the result of the application's resolver. If that took the first
 * language of {@code Accept-Language}, as Micronaut's resolver does regardless of weights, the
 * language with the greatest weight is used instead.
 */
final class RequestLanguage {

  /** Ten times the length of a browser's preferences. Parsing takes time for every language. */
  private static final int MAX_LENGTH = 256;

  private final LocaleResolver<HttpRequest<?>> resolver;
  private final Locale usual;

  RequestLanguage(LocaleResolver<HttpRequest<?>> resolver, Locale usual) {
    this.resolver = resolver;
    this.usual = usual;
  }

  Locale of(HttpRequest<?> request) {
    try {
      Locale resolved = resolver.resolveOrDefault(request);
      return resolved.equals(request.getLocale().orElse(null))
          ? preferred(request).orElse(usual)
          : resolved;
    } catch (RuntimeException e) {
      // Micronaut fails for an Accept-Language such as ";", which must not cause a 500.
      return usual;
    }
  }

  /** The language of the greatest weight; empty if the client has no preference. */
  private static Optional<Locale> preferred(HttpRequest<?> request) {
    String field = String.join(",", request.getHeaders().getAll(HttpHeaders.ACCEPT_LANGUAGE));
    if (field.length() > MAX_LENGTH) {
      return request.getLocale();
    }
    for (Locale.LanguageRange range : Locale.LanguageRange.parse(field)) {
      if (range.getWeight() > 0 && !range.getRange().startsWith("*")) {
        return Optional.of(Locale.forLanguageTag(range.getRange()));
      }
    }
    return Optional.empty();
  }

  /**
   * Bounds the number of locales that are passed to message sources. Java caches every locale for
   * which a resource bundle was requested, found or not, at about 1 kB each, and searches for its
   * files once. A denied client could send a new locale with each request.
   */
  static final class BoundedLocales {

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
}
