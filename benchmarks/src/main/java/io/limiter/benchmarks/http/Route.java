// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.http;

import io.limiter.benchmarks.server.BenchmarkService.Script;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** The routes that are measured, in this order. */
enum Route {
  PLAIN("/plain", "no limit", Expected.UNLIMITED),
  FLOOR("/floor", "a bare filter and a script that returns a constant", Expected.ADMITTED),
  LIMITED("/limited", "two rules, decided in the gate", Expected.ADMITTED),
  LIMITED_ARG("/limited-arg/one?page=2", "two rules, by arguments of the head", Expected.ADMITTED),
  LIMITED_ASYNC("/limited-async", "two rules, a CompletionStage", Expected.ADMITTED),
  HOT("/hot", "one subject, decided in the gate", Expected.ADMITTED),
  HOT_LEASED("/hot-leased", "one subject, by leases", Expected.ADMITTED),
  FLOOR_CALL("/floor-call", "a bare interceptor, which waits for the same", Expected.ADMITTED),
  LIMITED_CALL("/limited-call", "two rules, by an argument; the guard waits", Expected.ADMITTED),
  LIMITED_CALL_ASYNC(
      "/limited-call-async", "two rules, by an argument, a CompletionStage", Expected.ADMITTED),
  FLOOR_DENIED("/floor-denied", "a bare filter that returns a constant 429", Expected.DENIED),
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

  /** The least that a route of this kind costs on this machine; empty if there is none. */
  Optional<Route> floor() {
    return switch (this) {
      case LIMITED, LIMITED_ARG, LIMITED_ASYNC, HOT, NO_OP -> Optional.of(FLOOR);
      case LIMITED_CALL -> Optional.of(FLOOR_CALL);
      case DENIED -> Optional.of(FLOOR_DENIED);
      default -> Optional.empty();
    };
  }

  /** The titles of the routes in which the limiter has no part. */
  static List<String> yardsticks() {
    return Stream.of(PLAIN, FLOOR, FLOOR_CALL, FLOOR_DENIED).map(Route::title).toList();
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
