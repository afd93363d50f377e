// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.limiter.core.Outcome;
import io.limiter.micronaut.exception.DenialText;
import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.exceptions.ConfigurationException;

/**
 * Settings of the responses to denied calls. A message is a text, or the key of a message in
 * braces.
 */
@Context // created at the start, so that a mistake stops it
@ConfigurationProperties(DenialConfiguration.PREFIX)
public final class DenialConfiguration {

  /** Prefix of these settings. */
  public static final String PREFIX = LimiterConfiguration.PREFIX + ".denial";

  private Body body = Body.APPLICATION;
  private int status = 429;
  private String code = "rate_limited";
  private String message = DenialText.ownMessage(Outcome.LIMITED);
  private String tooCostlyMessage = DenialText.TOO_COSTLY;
  private int bannedStatus = 429;
  private String bannedCode = "banned";
  private String bannedMessage = DenialText.ownMessage(Outcome.BANNED);
  private int duplicateStatus = 409;
  private String duplicateCode = "duplicate_submission";
  private String duplicateMessage = DenialText.ownMessage(Outcome.DUPLICATE);
  private int unavailableStatus = 503;
  private String unavailableCode = "limiter_unavailable";
  private String unavailableMessage = DenialText.ownMessage(Outcome.UNAVAILABLE);

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
   * The response to calls of this outcome, unless their annotation overrides it: all parts of it.
   *
   * @throws IllegalArgumentException if such calls are not denied
   */
  public DenialText text(Outcome outcome) {
    return switch (outcome) {
      case LIMITED -> DenialText.of(status, code, message);
      case BANNED -> DenialText.of(bannedStatus, bannedCode, bannedMessage);
      case DUPLICATE -> DenialText.of(duplicateStatus, duplicateCode, duplicateMessage);
      case UNAVAILABLE -> DenialText.of(unavailableStatus, unavailableCode, unavailableMessage);
      case ALLOWED -> throw new IllegalArgumentException("Calls that are allowed are not denied");
    };
  }

  /** The form of the body. */
  public Body form() {
    return body;
  }

  /** Default value {@code application}; or {@code problem}, or {@code template}. */
  public void setBody(String body) {
    this.body = EnumSetting.of(Body.class, PREFIX + ".body", body);
  }

  /** Status of the response to a call that a rule denied. Default value 429; 400 to 599. */
  public void setStatus(int status) {
    this.status = requireError("status", status);
  }

  /** Code by which programs recognize such a denial. Default value {@code rate_limited}. */
  public void setCode(String code) {
    this.code = requireCode("code", code);
  }

  /** Message of such a denial. Default value {@code {limiter.rate-limited}}. */
  public void setMessage(String message) {
    this.message = message;
  }

  /**
   * Message for a call that costs more than a rule ever admits, in place of any other message: no
   * wait would help.
   */
  public String tooCostlyMessage() {
    return tooCostlyMessage;
  }

  /** Default value {@code {limiter.too-costly}}. */
  public void setTooCostlyMessage(String tooCostlyMessage) {
    this.tooCostlyMessage = tooCostlyMessage;
  }

  /** Status of the response to a banned subject. Default value 429; 400 to 599. */
  public void setBannedStatus(int bannedStatus) {
    this.bannedStatus = requireError("banned-status", bannedStatus);
  }

  /** Code by which programs recognize a ban. Default value {@code banned}. */
  public void setBannedCode(String bannedCode) {
    this.bannedCode = requireCode("banned-code", bannedCode);
  }

  /** Message for a banned subject. Default value {@code {limiter.banned}}. */
  public void setBannedMessage(String bannedMessage) {
    this.bannedMessage = bannedMessage;
  }

  /**
   * Status of the response to a duplicate. Default value 409, for which no client retries
   * automatically; 400 to 599.
   */
  public void setDuplicateStatus(int duplicateStatus) {
    this.duplicateStatus = requireError("duplicate-status", duplicateStatus);
  }

  /** Code by which programs recognize a duplicate. Default value {@code duplicate_submission}. */
  public void setDuplicateCode(String duplicateCode) {
    this.duplicateCode = requireCode("duplicate-code", duplicateCode);
  }

  /** Message for a duplicate. Default value {@code {limiter.duplicate}}. */
  public void setDuplicateMessage(String duplicateMessage) {
    this.duplicateMessage = duplicateMessage;
  }

  /**
   * Status of the response where the store is away and calls are denied. Default 503; 400 to 599.
   */
  public void setUnavailableStatus(int unavailableStatus) {
    this.unavailableStatus = requireError("unavailable-status", unavailableStatus);
  }

  /**
   * Code by which programs recognize that the store is away. Default value {@code
   * limiter_unavailable}.
   */
  public void setUnavailableCode(String unavailableCode) {
    this.unavailableCode = requireCode("unavailable-code", unavailableCode);
  }

  /**
   * Message for calls denied while the store is away. Default value {@code {limiter.unavailable}}.
   */
  public void setUnavailableMessage(String unavailableMessage) {
    this.unavailableMessage = unavailableMessage;
  }

  private static String requireCode(String property, String code) {
    if (code.isBlank()) {
      throw new ConfigurationException(
          "%s.%s = '%s': it is blank: write a code, or leave it out"
              .formatted(PREFIX, property, code));
    }
    return code;
  }

  private static int requireError(String property, int status) {
    if (status < 400 || status > 599) {
      throw new ConfigurationException(
          "%s.%s = %d: give it an error status, 400 to 599".formatted(PREFIX, property, status));
    }
    return status;
  }
}
