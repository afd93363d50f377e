// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.limiter.core.Outcome;
import io.limiter.core.util.BoundedCache;
import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.config.DenialConfiguration;
import io.micronaut.context.AbstractMessageSource;
import io.micronaut.context.MessageSource;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.order.Ordered;
import io.micronaut.core.util.LocaleResolver;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.server.util.locale.HttpLocaleResolutionConfiguration;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.ResourceBundle;
import java.util.Set;
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
 */
@Singleton
public class DenialMessages {

  private static final Logger LOG = LoggerFactory.getLogger(DenialMessages.class);

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

  private final MessageSource source;
  private final RequestLanguage languages;
  private final Locale usual;
  private final RequestLanguage.BoundedLocales bounded = new RequestLanguage.BoundedLocales();
  private final ShippedMessages shipped;

  /** Messages come from annotations and settings, so their number is small. */
  private final BoundedCache<String, TextTemplate> templates =
      new BoundedCache<>(MAX_REMEMBERED, TextTemplate::parse);

  private final LogThrottle failures = new LogThrottle();

  public DenialMessages(
      MessageSource source,
      LocaleResolver<HttpRequest<?>> locales,
      HttpLocaleResolutionConfiguration configuration) {
    this.source = source;
    this.usual = configuration.getDefaultLocale();
    this.languages = new RequestLanguage(locales, usual);
    this.shipped = new ShippedMessages(configuration);
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
    TextTemplate text = templates.get(message);
    Optional<String> key = key(text);
    if (key.isEmpty()) {
      Map<String, Object> values = arguments.get();
      return text.fill(name -> String.valueOf(values.getOrDefault(name, "{" + name + "}")));
    }
    Locale asked = languages.of(request);
    MessageSource.MessageContext context =
        new ShippedMessages.RequestMessage(asked, bounded.bound(asked, usual), arguments);
    try {
      return source
          .getMessage(key.get(), context)
          .or(() -> usual(otherwise, source, context))
          .orElse(otherwise);
    } catch (RuntimeException broken) {
      failures.report(LOG, "A MessageSource has failed, so the default message is used", broken);
      return usual(otherwise, shipped, context).orElse(otherwise);
    }
  }

  /** The language in which a message is looked up for a request; null if it is a text. */
  @Internal
  public @Nullable Locale language(String message, HttpRequest<?> request) {
    return message.indexOf('{') >= 0 && key(templates.get(message)).isPresent()
        ? languages.of(request)
        : null;
  }

  private Optional<String> usual(
      String otherwise, MessageSource source, MessageSource.MessageContext context) {
    return key(templates.get(otherwise)).flatMap(own -> source.getMessage(own, context));
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
   * The same where other sources have messages.
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
    Optional<String> key = key(text);
    if (key.isPresent()) {
      if (!known.test(key.get())) {
        throw new IllegalArgumentException(
            "no message source has a message '%s' in any language: add it to a bundle of the application, or write a text, which may have the arguments %s"
                .formatted(key.get(), arguments()));
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

  private static Optional<String> key(TextTemplate text) {
    return text.only().filter(name -> !ARGUMENTS.contains(name));
  }

  /**
   * Tries likely languages first; all languages of the JVM are tried only for a key that those
   * lack.
   */
  private boolean known(String key) {
    return Stream.concat(
            Stream.of(usual, Locale.ROOT, Locale.getDefault(), Locale.ENGLISH, Locale.CHINESE),
            Stream.of(key).flatMap(any -> Stream.of(Locale.getAvailableLocales())))
        .anyMatch(
            locale ->
                source.getRawMessage(key, MessageSource.MessageContext.of(locale)).isPresent());
  }

  /**
   * The limiter's own messages, in English and Chinese, for keys that no source of the application
   * has. For other languages it uses Chinese if that is the application's default language, else
   * English.
   *
   * <p>The bundles are read once, and this class selects the one for a locale: {@code
   * ResourceBundle} would select Chinese for an English request where that is the JVM's language,
   * and keeps every locale that was ever requested, also those that clients send.
   */
  @Singleton
  static final class ShippedMessages extends AbstractMessageSource {

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

  /** Checks the configured messages at the start, which an unusable message stops. */
  @Context
  static final class MessageCheck {

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
            "%s.%s = %s: %s"
                .formatted(DenialConfiguration.PREFIX, property, message, e.getMessage()),
            e);
      }
    }
  }
}
