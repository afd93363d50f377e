// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class WrkTest {

  private static final String OUTPUT =
      """
      Running 3s test @ http://127.0.0.1:8080/plain
        1 threads and 64 connections
        Thread Stats   Avg      Stdev     Max   +/- Stdev
          Latency     1.15ms    1.06ms  24.46ms   93.05%
          Req/Sec    58.23k     6.52k   66.05k    83.87%
        Latency Distribution
           50%  806.00us
           75%    1.13ms
           90%    1.60ms
           99%    1.25s
        179456 requests in 3.10s, 24.65MB read
      """;

  @Test
  void theOutputOfASuccessfulRunIsRead() {
    assertThat(Wrk.read(OUTPUT + "Requests/sec:  57892.62\nTransfer/sec:      7.95MB\n"))
        .isEqualTo(new LoadResult(57_892.62, 179_456, 0, 0, 806, 1_250_000));
  }

  @Test
  void denialsAndErrorsAreCounted() {
    LoadResult load =
        Wrk.read(
            OUTPUT
                + "  Socket errors: connect 1, read 2, write 3, timeout 4\n"
                + "  Non-2xx or 3xx responses: 179455\n"
                + "Requests/sec:  57892.62\n");
    assertThat(load.denied()).isEqualTo(179_455);
    assertThat(load.errors()).isEqualTo(10);
  }

  @Test
  void outputWithoutAResultIsInTheError() {
    assertThatThrownBy(() -> Wrk.read("unable to connect to 127.0.0.1:8080 Connection refused"))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("Connection refused");
  }
}
