// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.micronaut.core.util.LocaleResolver;
import io.micronaut.http.HttpHeaders;
import io.micronaut.http.HttpRequest;
import java.util.Locale;
import java.util.Optional;

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
}
