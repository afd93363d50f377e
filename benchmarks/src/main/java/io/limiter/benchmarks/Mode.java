// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks;

import java.util.List;

/** Something that can be measured by itself. */
public interface Mode {

  /** An option of one mode only: {@code --name VALUE}. */
  record Option(String name, String value, String help) {}

  /** As on the command line. */
  String name();

  /** One line. */
  String help();

  /** What may be said to this mode beside the options of all. */
  default List<Option> options() {
    return List.of();
  }

  /** Whether it is a part of {@code all}: not what runs until it is ended, nor what only checks. */
  default boolean partOfAll() {
    return true;
  }

  /**
   * Measures, and reports.
   *
   * @throws Exception whatever it fails with; nothing is measured after that
   */
  void run(Options options, Report report) throws Exception;
}
