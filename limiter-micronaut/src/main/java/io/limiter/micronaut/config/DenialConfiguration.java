// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.exceptions.ConfigurationException;

/** What a refused caller is answered. */
@Context // a mistake stops the start
@ConfigurationProperties(DenialConfiguration.PREFIX)
public final class DenialConfiguration {

  /** All settings stand under this. */
  public static final String PREFIX = LimiterConfiguration.PREFIX + ".denial";

  private Body body = Body.APPLICATION;
  private int status = 429;
  private String code = "rate_limited";
  private String message = "Too many requests, try again later";
  private int duplicateStatus = 409;
  private String duplicateCode = "duplicate_submission";
  private String duplicateMessage = "This was submitted already";

  /** The form of the body. */
  public enum Body {
    /**
     * The application's own error format, whatever it has made of Micronaut's
     * ErrorResponseProcessor.
     */
    APPLICATION,
    /**
     * {@code application/problem+json}, RFC 9457, with the problem types of
     * draft-ietf-httpapi-ratelimit-headers.
     */
    PROBLEM
  }

  /** The form of the body. */
  public Body getBody() {
    return body;
  }

  /** Default value {@code application}. */
  public void setBody(Body body) {
    this.body = body;
  }

  /** Status of an answer to a call that a rule refused. */
  public int getStatus() {
    return status;
  }

  /** Default value 429; 400 to 599. */
  public void setStatus(int status) {
    this.status = requireError("status", status);
  }

  /** What programs tell it by. */
  public String getCode() {
    return code;
  }

  /** Default value {@code rate_limited}. */
  public void setCode(String code) {
    this.code = code;
  }

  /** What people are told, unless the annotation has a message. */
  public String getMessage() {
    return message;
  }

  /** Default value {@code Too many requests, try again later}. */
  public void setMessage(String message) {
    this.message = message;
  }

  /** Status of an answer to a duplicate. */
  public int getDuplicateStatus() {
    return duplicateStatus;
  }

  /** Default value 409, which no client repeats by itself; 400 to 599. */
  public void setDuplicateStatus(int duplicateStatus) {
    this.duplicateStatus = requireError("duplicate-status", duplicateStatus);
  }

  /** What programs tell a duplicate by. */
  public String getDuplicateCode() {
    return duplicateCode;
  }

  /** Default value {@code duplicate_submission}. */
  public void setDuplicateCode(String duplicateCode) {
    this.duplicateCode = duplicateCode;
  }

  /** What people are told of a duplicate, unless the annotation has a message. */
  public String getDuplicateMessage() {
    return duplicateMessage;
  }

  /** Default value {@code This was submitted already}. */
  public void setDuplicateMessage(String duplicateMessage) {
    this.duplicateMessage = duplicateMessage;
  }

  private static int requireError(String property, int status) {
    if (status < 400 || status > 599) {
      throw new ConfigurationException(
          "%s.%s = %d: give it an error status, 400 to 599".formatted(PREFIX, property, status));
    }
    return status;
  }
}
