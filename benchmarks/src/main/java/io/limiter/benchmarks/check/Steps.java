// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.check;

import io.limiter.benchmarks.Table;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/** Steps of a check, each of which works or not, in one table. */
final class Steps {

  private static final int MOST_CHARACTERS = 120;

  /** What a server adds to its error: arguments, and the digest of a script. */
  private static final Pattern ADDED =
      Pattern.compile("(, with args beginning with:| script: [0-9a-f]{40}).*");

  private static final int PATIENCE_SECONDS = 10;

  private final Table table;
  private int failed;

  Steps(String title) {
    this.table = new Table(title, "step", "works", "if not");
  }

  Table table() {
    return table;
  }

  /** How many steps did not work that the limiter needs. */
  int failed() {
    return failed;
  }

  /**
   * A step that the limiter needs.
   *
   * @param remedy what to do if it does not work
   */
  boolean needed(String step, String remedy, Callable<?> action) {
    boolean works = optional(step, remedy, action);
    if (!works) {
      failed++;
    }
    return works;
  }

  /**
   * A step that the limiter can do without.
   *
   * @param outcome what is different if it does not work
   */
  boolean optional(String step, String outcome, Callable<?> action) {
    try {
      Object result = action.call();
      table.row(step, result instanceof String text ? "yes: " + text : "yes", "");
      return true;
    } catch (Exception e) { // each is a result here
      table.row(step, "no: " + reason(e), outcome);
      return false;
    }
  }

  /** Waits for a result. */
  static <T> T get(CompletionStage<T> stage) throws Exception {
    return stage.toCompletableFuture().get(PATIENCE_SECONDS, TimeUnit.SECONDS);
  }

  /** Fails unless a result is the expected one. */
  static void require(boolean asExpected, String otherwise) {
    if (!asExpected) {
      throw new IllegalStateException(otherwise);
    }
  }

  private static String reason(Exception failure) {
    Throwable cause = failure;
    while ((cause instanceof ExecutionException || cause instanceof CompletionException)
        && cause.getCause() != null) {
      cause = cause.getCause();
    }
    String text =
        cause.getMessage() == null ? cause.getClass().getSimpleName() : cause.getMessage();
    String line = ADDED.matcher(text.strip().replaceAll("\\s+", " ")).replaceAll("");
    return line.length() <= MOST_CHARACTERS ? line : line.substring(0, MOST_CHARACTERS) + " …";
  }
}
