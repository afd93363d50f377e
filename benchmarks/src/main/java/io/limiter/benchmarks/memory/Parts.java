// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.memory;

import io.limiter.core.Limiter;
import io.limiter.core.StateKey;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import io.limiter.micronaut.config.HeadersConfiguration;
import io.limiter.micronaut.http.RateLimitFields;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.MutableHttpResponse;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** Parts of a limited request that every one of them takes, each by itself. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.Throughput)
@SuppressWarnings("NullAway.Init") // JMH calls setUp before all else
public class Parts {

  private String limit;
  private Subject address;
  private Verdict verdict;
  private RateLimitFields fields;

  @Setup
  public void setUp() {
    limit = "io.limiter.benchmarks.server.LimitedController.limited()";
    address = new Subject("ip", "203.0.113.195");
    verdict =
        new Limiter(new MemoryStore()).acquire(OverWire.request()).toCompletableFuture().join();
    fields = new RateLimitFields(new HeadersConfiguration());
  }

  /** The name of the state of an address: a hash. */
  @Benchmark
  public StateKey stateKey() {
    return StateKey.of(limit, address);
  }

  /** The RateLimit fields of two rules, on an empty response. */
  @Benchmark
  public MutableHttpResponse<?> fields() {
    MutableHttpResponse<?> response = HttpResponse.ok();
    fields.writeIfAbsent(verdict, response);
    return response;
  }

  /** The empty response alone. */
  @Benchmark
  public MutableHttpResponse<?> response() {
    return HttpResponse.ok();
  }
}
