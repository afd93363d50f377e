// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.incident;

/** The phases of the incident, one after another. */
enum Phase {
  USUAL("usual traffic", 60),
  FLOOD("a flood", 60),
  SILENT("Redis is silent", 40),
  BACK("Redis is back", 50);

  private final String title;
  private final int seconds;

  Phase(String title, int seconds) {
    this.title = title;
    this.seconds = seconds;
  }

  String title() {
    return title;
  }

  /** Its first second. */
  int from() {
    int from = 0;
    for (Phase before : values()) {
      if (before == this) {
        break;
      }
      from += before.seconds;
    }
    return from;
  }

  int to() {
    return from() + seconds;
  }
}
