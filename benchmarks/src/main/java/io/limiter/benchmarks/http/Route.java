// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.http;

import io.limiter.benchmarks.server.BenchmarkService.Script;

/** The routes that are measured, in this order. */
enum Route {
  PLAIN("/plain", "no limit", Expected.UNLIMITED),
  LIMITED("/limited", "two rules, decided in the gate", Expected.ADMITTED),
  LIMITED_ASYNC("/limited-async", "two rules, a CompletionStage", Expected.ADMITTED),
  LIMITED_CALL("/limited-call", "two rules, by an argument; the guard waits", Expected.ADMITTED),
  LIMITED_CALL_ASYNC(
      "/limited-call-async", "two rules, by an argument, a CompletionStage", Expected.ADMITTED),
  DENIED("/denied", "one caller, denied", Expected.DENIED),
  DENIED_UNCACHED("/denied-uncached", "one caller, denied by Redis each time", Expected.DENIED),
  NO_OP("/limited", "two rules, and a script that does nothing", Expected.ADMITTED);

  private final String path;
  private final String what;
  private final Expected expected;

  Route(String path, String what, Expected expected) {
    this.path = path;
    this.what = what;
    this.expected = expected;
  }

  String path() {
    return path;
  }

  Expected expected() {
    return expected;
  }

  /** What decides, in the service of this route. */
  Script script() {
    return this == NO_OP ? Script.NO_OP : Script.DECISION;
  }

  /** Its name in tables. */
  String title() {
    return '`' + path + "`: " + what;
  }
}
