// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.exception;

/**
 * A call lacks a value that its limits need, or has an invalid one. Over HTTP it is a bad request,
 * 400, in the error format of the application; the method is not entered.
 */
public abstract sealed class InvalidCallException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  private final String response;

  private InvalidCallException(String message, String response) {
    super(message, null, false, false);
    this.response = response;
  }

  /**
   * The key of the message in the response, in braces, such as <code>{limiter.invalid-cost}</code>.
   * The message of this exception is for the log.
   */
  public final String responseMessage() {
    return response;
  }

  /** The code by which programs recognize the mistake, such as {@code invalid_cost}. */
  public final String code() {
    return response.substring(response.indexOf('.') + 1, response.length() - 1).replace('-', '_');
  }

  /**
   * A call has no subject: the expression of its limit fails, or is null or empty, or the call is
   * anonymous and anonymous calls are denied. The call is not admitted, and calls without a subject
   * are not counted together.
   */
  public static final class MissingSubjectException extends InvalidCallException {

    private static final long serialVersionUID = 1L;

    /**
     * @param message what is missing, for the log
     */
    public MissingSubjectException(String message) {
      super(message, "{limiter.missing-subject}");
    }
  }

  /**
   * A call has no valid cost: the expression fails or does not give a whole number within the
   * bounds. It is not admitted, and nothing was counted.
   */
  public static final class InvalidCostException extends InvalidCallException {

    private static final long serialVersionUID = 1L;

    /**
     * @param message what is wrong with the call, for the log
     */
    public InvalidCostException(String message) {
      super(message, "{limiter.invalid-cost}");
    }
  }

  /**
   * A call has no valid day on which the periods of its subject begin: the expression of {@code
   * FixedWindow.anchor} fails or does not give a day. It is not admitted, and nothing was counted.
   */
  public static final class InvalidAnchorException extends InvalidCallException {

    private static final long serialVersionUID = 1L;

    /**
     * @param message what is wrong with the call, for the log
     */
    public InvalidAnchorException(String message) {
      super(message, "{limiter.invalid-anchor}");
    }
  }

  /**
   * The arguments of a call cannot be compared with those of others, because they are nested too
   * deep. The rules of the method have counted the call.
   */
  public static final class InvalidSubmissionException extends InvalidCallException {

    private static final long serialVersionUID = 1L;

    /**
     * @param message what is wrong with the call, for the log: nothing of what it contains
     */
    public InvalidSubmissionException(String message) {
      super(message, "{limiter.invalid-submission}");
    }
  }
}
