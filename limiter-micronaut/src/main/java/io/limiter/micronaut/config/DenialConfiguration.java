// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.limiter.core.Outcome;
import io.limiter.micronaut.exception.DenialText;
import io.micronaut.context.annotation.ConfigurationInject;
import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.bind.annotation.Bindable;
import java.util.Map;

/**
 * Settings of the responses to denied calls. A message is a text, or the key of a message in
 * braces.
 *
 * @param form the form of the body
 * @param numbers whether a problem has the numbers of the rule that denies
 * @param texts the response to calls of each outcome that is denied, unless their annotation
 *     overrides it: all parts of it
 * @param tooCostlyMessage the message for a call that costs more than a rule ever admits, in place
 *     of any other message: it can never succeed
 * @param inFlightMessage the message for a call over a concurrency limit, whose wait is unknown: in
 *     place of the usual one, and of one with {@code {retryAfter}}
 */
@Context // created at the start, so that a mistake stops it
@ConfigurationProperties(DenialConfiguration.PREFIX)
public record DenialConfiguration(
    Body form,
    boolean numbers,
    Map<Outcome, DenialText> texts,
    String tooCostlyMessage,
    String inFlightMessage) {

  /** Prefix of these settings. */
  public static final String PREFIX = LimiterConfiguration.PREFIX + ".denial";

  /** The form of the body. */
  public enum Body {
    /** The application's own error format, as its ErrorResponseProcessor writes it. */
    APPLICATION,
    /**
     * {@code application/problem+json}, RFC 9457, with the problem types of
     * draft-ietf-httpapi-ratelimit-headers.
     */
    PROBLEM,
    /** The application's own fields, as {@link TemplateConfiguration} defines them. */
    TEMPLATE
  }

  /**
   * @param body The form of the body. Default value {@code application}; or {@code problem}, or
   *     {@code template}.
   * @param numbers Whether the body {@code problem} has the numbers of the rule that denies.
   *     Default value false.
   * @param status Status of the response to a call that a rule denied. Default value 429; 400 to
   *     599.
   * @param code Code by which programs recognize such a denial. Default value {@code rate_limited}.
   * @param message Message of such a denial. Default value {@code {limiter.rate-limited}}.
   * @param tooCostlyMessage Message for a call that costs more than a rule ever admits, in place of
   *     any other message: it can never succeed. Default value {@code {limiter.too-costly}}.
   * @param inFlightMessage Message for a call over a concurrency limit, whose wait is unknown: in
   *     place of the usual one, and of one with {@code {retryAfter}}. Default value {@code
   *     {limiter.in-flight}}.
   * @param bannedStatus Status of the response to a banned subject. Default value 429; 400 to 599.
   * @param bannedCode Code by which programs recognize a ban. Default value {@code banned}.
   * @param bannedMessage Message for a banned subject. Default value {@code {limiter.banned}}.
   * @param duplicateStatus Status of the response to a duplicate. Default value 409, for which no
   *     client retries automatically; 400 to 599.
   * @param duplicateCode Code by which programs recognize a duplicate. Default value {@code
   *     duplicate_submission}.
   * @param duplicateMessage Message for a duplicate. Default value {@code {limiter.duplicate}}.
   * @param unavailableStatus Status of the response where the store is away and calls are denied.
   *     Default value 503; 400 to 599.
   * @param unavailableCode Code by which programs recognize that the store is away. Default value
   *     {@code limiter_unavailable}.
   * @param unavailableMessage Message for calls denied while the store is away. Default value
   *     {@code {limiter.unavailable}}.
   * @throws ConfigurationException naming the property, its value and the remedy
   */
  @ConfigurationInject
  DenialConfiguration(
      @Bindable(defaultValue = "application") String body,
      @Bindable(defaultValue = "false") boolean numbers,
      @Bindable(defaultValue = "429") int status,
      @Bindable(defaultValue = "rate_limited") String code,
      @Bindable(defaultValue = "{limiter.rate-limited}") String message,
      @Bindable(defaultValue = DenialText.TOO_COSTLY) String tooCostlyMessage,
      @Bindable(defaultValue = DenialText.IN_FLIGHT) String inFlightMessage,
      @Bindable(defaultValue = "429") int bannedStatus,
      @Bindable(defaultValue = "banned") String bannedCode,
      @Bindable(defaultValue = "{limiter.banned}") String bannedMessage,
      @Bindable(defaultValue = "409") int duplicateStatus,
      @Bindable(defaultValue = "duplicate_submission") String duplicateCode,
      @Bindable(defaultValue = "{limiter.duplicate}") String duplicateMessage,
      @Bindable(defaultValue = "503") int unavailableStatus,
      @Bindable(defaultValue = "limiter_unavailable") String unavailableCode,
      @Bindable(defaultValue = "{limiter.unavailable}") String unavailableMessage) {
    this(
        EnumSetting.of(Body.class, PREFIX + ".body", body),
        numbers,
        Map.of(
            Outcome.LIMITED,
            text("", status, code, message),
            Outcome.BANNED,
            text("banned-", bannedStatus, bannedCode, bannedMessage),
            Outcome.DUPLICATE,
            text("duplicate-", duplicateStatus, duplicateCode, duplicateMessage),
            Outcome.UNAVAILABLE,
            text("unavailable-", unavailableStatus, unavailableCode, unavailableMessage)),
        tooCostlyMessage,
        inFlightMessage);
  }

  /**
   * The response to calls of this outcome, unless their annotation overrides it: all parts of it.
   *
   * @throws IllegalArgumentException if such calls are not denied
   */
  public DenialText text(Outcome outcome) {
    DenialText text = texts.get(outcome);
    if (text == null) {
      throw new IllegalArgumentException("Calls that are allowed are not denied");
    }
    return text;
  }

  private static DenialText text(String kind, int status, String code, String message) {
    Bounds.require(
        "%s.%sstatus".formatted(PREFIX, kind),
        status,
        400 <= status && status <= 599,
        "an error status, 400 to 599");
    if (code.isBlank()) {
      throw new ConfigurationException(
          "%s.%scode = '%s': it is blank: write a code, or leave it out"
              .formatted(PREFIX, kind, code));
    }
    return DenialText.of(status, code, message);
  }
}
