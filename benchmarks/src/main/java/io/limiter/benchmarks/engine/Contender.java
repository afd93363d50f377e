// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.engine;

import java.util.Optional;
import java.util.concurrent.CompletionStage;

/**
 * A way to decide about calls, to be measured.
 *
 * @param name as in tables, with the differences between its task and the others'
 * @param call decides one call
 * @param prepare runs before each measurement, when Redis has no key of this run
 * @param plain the command that each decision sends beside its scripts, in lower case
 */
record Contender(String name, Call call, Preparation prepare, Optional<String> plain) {

  /** Decides about a call of a subject, which has a number. */
  interface Call {
    CompletionStage<?> send(int subject);
  }

  /** Writes what has to be in Redis. */
  interface Preparation {
    void run() throws Exception;
  }

  /** A contender that runs nothing but scripts. */
  static Contender of(String name, Call call) {
    return new Contender(name, call, () -> {}, Optional.empty());
  }

  Contender withPreparation(Preparation other) {
    return new Contender(name, call, other, plain);
  }

  Contender withPlain(String command) {
    return new Contender(name, call, prepare, Optional.of(command));
  }
}
