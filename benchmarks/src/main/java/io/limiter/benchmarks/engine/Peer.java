// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.engine;

import java.util.List;

/** Another limiter, over a client of its own. */
interface Peer extends AutoCloseable {

  List<Contender> contenders();

  @Override
  void close();
}
