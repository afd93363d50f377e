// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.memory;

import io.micronaut.context.ApplicationContext;
import io.micronaut.context.event.ApplicationEventPublisher;
import io.micronaut.runtime.context.scope.refresh.RefreshEvent;
import java.util.HashMap;
import java.util.Map;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** Reads the settings of 1,000 policies of two rules again, and plans all of them. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.Throughput)
@SuppressWarnings("NullAway.Init") // JMH calls setUp before all else
public class Refresh {

  private static final int POLICIES = 1_000;

  private ApplicationContext service;
  private ApplicationEventPublisher<RefreshEvent> events;

  @Setup
  public void setUp() {
    Map<String, Object> settings = new HashMap<>();
    for (int i = 0; i < POLICIES; i++) {
      String rules = "limiter.policies.policy-" + i + ".rules";
      settings.put(rules + "[0].count", 10);
      settings.put(rules + "[0].time", "1s");
      settings.put(rules + "[1].count", 100 + i);
      settings.put(rules + "[1].time", "60s");
    }
    service = ApplicationContext.run(settings);
    events = service.getEventPublisher(RefreshEvent.class);
  }

  @TearDown
  public void tearDown() {
    service.close();
  }

  @Benchmark
  public void refresh() {
    events.publishEvent(new RefreshEvent());
  }
}
