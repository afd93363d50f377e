// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks;

import java.util.List;

/** Something that can be measured by itself. */
public interface Mode {

  /** An option of one mode only: {@code --name VALUE}. */
  record Option(String name, String value, String help) {}

  /** What a run that only checks has found; its message is enough. */
  final class Failure extends Exception {

    private static final long serialVersionUID = 1L;

    public Failure(String message) {
      super(message);
    }
  }

  /** Its name on the command line. */
  String name();

  /** One line. */
  String help();

  /** The options of this mode beside the common ones. */
  default List<Option> options() {
    return List.of();
  }

  /**
   * Whether it is a part of {@code all}: not a mode that runs until it is ended, nor one that only
   * checks.
   */
  default boolean partOfAll() {
    return true;
  }

  /**
   * Measures, and reports.
   *
   * @throws Exception any failure; nothing is measured after that
   */
  void run(Options options, Report report) throws Exception;
}
