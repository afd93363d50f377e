// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.limiter.core.Outcome;
import io.limiter.core.util.BoundedCache;
import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.config.CallerConfiguration.BlockConfiguration;
import io.limiter.micronaut.config.DenialConfiguration;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.micronaut.context.MessageSource;
import io.micronaut.context.MessageSource.MessageContext;
import io.micronaut.context.StaticMessageSource;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.util.LocaleResolver;
import io.micronaut.http.HttpHeaders;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.server.util.locale.CompositeHttpLocaleResolver;
import io.micronaut.http.server.util.locale.HttpLocaleResolutionConfiguration;
import io.micronaut.http.server.util.locale.HttpLocaleResolver;
import io.micronaut.http.server.util.locale.RequestLocaleResolver;
import jakarta.inject.Singleton;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Renders the messages of denials. A message is a text with arguments in braces, such as <code>
 * Wait {retryAfter} seconds</code>, or only the key of a message in braces, such as <code>
 * {sms.limited}</code>, which Micronaut's {@link MessageSource} provides in the language of the
 * request.
 *
 * <p>A text is used literally; write a literal brace twice. Micronaut formats a message of a
 * MessageSource: there an apostrophe quotes; write a literal apostrophe twice.
 *
 * <p>The language of a request is the result of the application's resolver. If that took the first
 * language of {@code Accept-Language}, as Micronaut's resolver does regardless of weights, the
 * language with the greatest weight is used instead.
 */
@Singleton
public class DenialMessages {

  /** The arguments of messages. */
  public static final List<String> ARGUMENTS =
      List.of(
          "code",
          "policy",
          "violated",
          "retryAfter",
          "banned",
          "limit",
          "remaining",
          "window",
          "path",
          "method");

  /** Maximum number of messages that are cached in parsed form; others are parsed each time. */
  private static final int MAX_REMEMBERED = 1_024;

  /** Ten times the length of a browser's preferences. Parsing takes time for every language. */
  private static final int MAX_PREFERENCES = 256;

  /** More locales than the languages and countries that any service supports. */
  static final int MOST_LOCALES = 512;

  private static final Set<String> LANGUAGES = Set.of(Locale.getISOLanguages());

  private final MessageSource source;
  private final LocaleResolver<HttpRequest<?>> locales;

  /** Whether {@code Accept-Language} alone decides: then no resolver is asked. */
  private final boolean byHeader;

  private final Locale usual;
  private final List<MessageSource> shipped;
  private final Set<Locale> seen = ConcurrentHashMap.newKeySet();

  /** Messages come from annotations and settings, so their number is small. */
  private final BoundedCache<String, TextTemplate> templates =
      new BoundedCache<>(MAX_REMEMBERED, TextTemplate::parse);

  /**
   * The texts of keys, before their arguments are filled in. A flood of denials looks up the same
   * few.
   */
  private final BoundedCache<Lookup, Optional<String>> texts =
      new BoundedCache<>(MAX_REMEMBERED, this::lookUp);

  private final boolean constant;
  // Not static, since the check of messages is used while limits are compiled.
  private final Logger log = LoggerFactory.getLogger(DenialMessages.class);
  private final LogThrottle failures = new LogThrottle();

  /**
   * @param source finds the text of a key
   * @param sources all that it consults; texts are cached only if none of them is of the
   *     application
   * @param locales finds the language of a request
   * @param resolvers all that it consults; it is not asked if they read {@code Accept-Language}
   *     only
   */
  public DenialMessages(
      MessageSource source,
      Collection<MessageSource> sources,
      LocaleResolver<HttpRequest<?>> locales,
      Collection<HttpLocaleResolver> resolvers,
      HttpLocaleResolutionConfiguration configuration) {
    this.source = source;
    this.constant = sources.stream().allMatch(DenialMessages::isConstant);
    this.locales = locales;
    this.byHeader =
        locales.getClass() == CompositeHttpLocaleResolver.class
            && resolvers.stream().allMatch(each -> each == locales || isOfHeader(each));
    this.usual = configuration.getDefaultLocale();
    this.shipped =
        Stream.concat(
                sources.stream().filter(ShippedMessages.class::isInstance),
                Stream.of(new ShippedMessages(configuration)))
            .toList();
  }

  /**
   * Renders the message for one request.
   *
   * @param message a text, or a key in braces
   * @param otherwise the message to use if no source has that key in the language of the request
   * @param arguments values by the names of {@link #ARGUMENTS}, requested only if the message has
   *     arguments
   */
  public String render(
      String message,
      String otherwise,
      HttpRequest<?> request,
      Supplier<Map<String, Object>> arguments) {
    if (message.indexOf('{') < 0 && message.indexOf('}') < 0) {
      return message;
    }
    String key = key(message);
    if (key == null) {
      Map<String, Object> values = arguments.get();
      return templates
          .get(message)
          .fill(name -> String.valueOf(values.getOrDefault(name, "{" + name + "}")));
    }
    Locale language = bound(language(request));
    Lookup lookup = new Lookup(key, otherwise, language);
    try {
      return (constant ? texts.get(lookup) : lookUp(lookup))
          .map(text -> format(text, source, language, arguments))
          .orElse(otherwise);
    } catch (Throwable broken) {
      failures.report(log, "A MessageSource has failed, so the default message is used", broken);
      return shipped.stream()
          .flatMap(
              own ->
                  find(key(otherwise), own, language)
                      .map(text -> format(text, own, language, arguments))
                      .stream())
          .findFirst()
          .orElse(otherwise);
    }
  }

  /**
   * {@linkplain #render Renders} the message of a response with this status: its reason phrase if
   * that fails, which may be code of the application.
   */
  @Internal
  public final String render(
      int status,
      String message,
      String otherwise,
      HttpRequest<?> request,
      Supplier<Map<String, Object>> arguments) {
    try {
      return Objects.requireNonNull(
          render(message, otherwise, request, arguments), "it returned null: let it return a text");
    } catch (Throwable broken) {
      failures.report(
          log,
          "%s has failed, so the message of denials is the reason phrase of their status"
              .formatted(getClass().getName()),
          broken);
      return Denial.title(status);
    }
  }

  /** Messages of an application's own source may change at any time. */
  private static boolean isConstant(MessageSource source) {
    Class<?> type = source.getClass();
    return source instanceof ShippedMessages
        || (type.getName().startsWith("io.micronaut.") && type != StaticMessageSource.class);
  }

  private Optional<String> lookUp(Lookup lookup) {
    return find(lookup.key(), source, lookup.language())
        .or(() -> find(key(lookup.otherwise()), source, lookup.language()));
  }

  private static Optional<String> find(
      @Nullable String key, MessageSource source, Locale language) {
    return key == null ? Optional.empty() : source.getRawMessage(key, MessageContext.of(language));
  }

  /** Most messages have no arguments, whose values take time, and nothing to be formatted. */
  private static String format(
      String text, MessageSource source, Locale language, Supplier<Map<String, Object>> arguments) {
    if (text.indexOf('{') < 0 && text.indexOf('\'') < 0) {
      return text;
    }
    Map<String, Object> values = text.indexOf('{') < 0 ? Map.of() : arguments.get();
    return source.interpolate(text, MessageContext.of(language, values));
  }

  /**
   * What a text depends on.
   *
   * @param otherwise the message to use if no source has the key
   */
  private record Lookup(String key, String otherwise, Locale language) {}

  /** The key, if the message is nothing else; null if it is a text. */
  private static @Nullable String key(String message) {
    int last = message.length() - 1;
    if (last < 2 || message.lastIndexOf('{') != 0 || message.indexOf('}') != last) {
      return null;
    }
    String name = message.substring(1, last);
    return name.isBlank() || ARGUMENTS.contains(name) ? null : name;
  }

  private static boolean isOfHeader(HttpLocaleResolver resolver) {
    return resolver.getClass() == RequestLocaleResolver.class;
  }

  /** The language in which keys are looked up for a request. */
  private Locale language(HttpRequest<?> request) {
    try {
      if (byHeader) {
        return preferred(request).orElse(usual);
      }
      Locale resolved = locales.resolveOrDefault(request);
      return resolved.equals(request.getLocale().orElse(null))
          ? preferred(request).orElse(usual)
          : resolved;
    } catch (RuntimeException e) {
      // Micronaut fails for an Accept-Language such as ";", which must not cause a 500.
      return usual;
    } catch (Throwable broken) {
      failures.report(log, "A LocaleResolver has failed, so the default language is used", broken);
      return usual;
    }
  }

  /** The language of the greatest weight; empty if the client has no preference. */
  private static Optional<Locale> preferred(HttpRequest<?> request) {
    List<String> fields = request.getHeaders().getAll(HttpHeaders.ACCEPT_LANGUAGE);
    if (fields.isEmpty()) {
      return Optional.empty();
    }
    String field = String.join(",", fields);
    if (field.length() > MAX_PREFERENCES) {
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
   * The locale without the parts that no text depends on; after too many different locales, only
   * its language.
   *
   * <p>This bounds the number of locales that are passed to message sources. Java caches every
   * locale for which a resource bundle was requested, found or not, at about 1 kB each, and
   * searches for its files once. A denied client could send a new locale with each request.
   */
  Locale bound(Locale locale) {
    Locale plain = seen.contains(locale) ? locale : plain(locale);
    if (seen.contains(plain) || (seen.size() < MOST_LOCALES && seen.add(plain))) {
      return plain;
    }
    if (ShippedMessages.isTraditional(plain)) {
      return Locale.TRADITIONAL_CHINESE;
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

  /**
   * Checks a message when the application starts.
   *
   * @throws IllegalArgumentException with the remedy, if it is empty, has an unknown argument, or
   *     is a key that no source has in any language
   */
  @Internal
  public void requireUsable(String message) {
    requireUsable(message, this::known);
  }

  /**
   * Like {@link #requireUsable(String)}, but for other sources of messages.
   *
   * @param known whether one of them has a message with this key
   */
  @Internal
  public static void requireUsable(String message, Predicate<String> known) {
    if (message.isBlank()) {
      throw new IllegalArgumentException(
          "it is empty: write a text, or leave it out to use the default one");
    }
    TextTemplate text = TextTemplate.parse(message);
    String key = key(message);
    if (key != null) {
      if (!known.test(key)) {
        throw new IllegalArgumentException(
            "no message source has a message '%s' in any language: add it to a bundle of the application, or write a text, which may have the arguments %s"
                .formatted(key, arguments()));
      }
      return;
    }
    for (String name : text.names()) {
      if (!ARGUMENTS.contains(name)) {
        throw new IllegalArgumentException(
            "unknown argument {%s}: use %s, or write {{ for a brace".formatted(name, arguments()));
      }
    }
  }

  private static String arguments() {
    return ARGUMENTS.stream().map(name -> "{" + name + "}").collect(Collectors.joining(", "));
  }

  /**
   * Tries likely languages first; all languages of the JVM are tried only for a key that those
   * lack.
   */
  private boolean known(String key) {
    return Stream.concat(
            Stream.of(usual, Locale.ROOT, Locale.getDefault(), Locale.ENGLISH, Locale.CHINESE),
            Stream.of(key).flatMap(any -> Stream.of(Locale.getAvailableLocales())))
        .anyMatch(locale -> source.getRawMessage(key, MessageContext.of(locale)).isPresent());
  }

  /** Checks the configured messages at the start, which an unusable message stops. */
  @Context
  static final class MessageCheck {

    MessageCheck(
        DenialConfiguration configuration,
        PoliciesConfiguration policies,
        DenialMessages messages) {
      check(configuration, messages, Outcome.LIMITED, "message");
      check(configuration, messages, Outcome.BANNED, "banned-message");
      check(configuration, messages, Outcome.DUPLICATE, "duplicate-message");
      check(configuration, messages, Outcome.UNAVAILABLE, "unavailable-message");
      check(
          messages,
          configuration.tooCostlyMessage(),
          DenialConfiguration.PREFIX + ".too-costly-message");
      check(
          messages,
          configuration.inFlightMessage(),
          DenialConfiguration.PREFIX + ".in-flight-message");
      check(
          messages,
          policies.current().blockResponse().message(),
          BlockConfiguration.PREFIX + ".message");
    }

    private static void check(
        DenialConfiguration configuration,
        DenialMessages messages,
        Outcome outcome,
        String property) {
      check(
          messages,
          configuration.text(outcome).message().orElseThrow(),
          DenialConfiguration.PREFIX + '.' + property);
    }

    private static void check(DenialMessages messages, String message, String property) {
      try {
        messages.requireUsable(message);
      } catch (IllegalArgumentException e) {
        throw new ConfigurationException(
            "%s = %s: %s".formatted(property, message, e.getMessage()), e);
      }
    }
  }
}
