// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.memory;

import io.limiter.benchmarks.server.BenchmarkService;
import io.limiter.core.LimitRequest;
import io.limiter.core.Limiter;
import io.limiter.core.StateKey;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import io.limiter.micronaut.config.LimiterConfiguration.HeadersConfiguration;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.limiter.micronaut.http.RateLimitFields;
import io.limiter.micronaut.plan.CallValues;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.PlanRegistry;
import io.limiter.micronaut.subject.RequestSubjects;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.context.ApplicationContext;
import io.micronaut.http.HttpMethod;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.inject.ExecutableMethod;
import io.micronaut.inject.MethodExecutionHandle;
import io.micronaut.web.router.Router;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** Parts of a limited request that every one of them takes, each by itself. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.Throughput)
@SuppressWarnings("NullAway.Init") // JMH calls setUp before all else
public class Parts {

  private String limit;
  private Subject address;
  private Verdict verdict;
  private RateLimitFields fields;
  private ApplicationContext service;
  private PlanRegistry plans;
  private ExecutableMethod<?, ?> method;
  private LimitPlan plan;
  private RequestSubjects subjects;
  private PoliciesConfiguration settings;
  private CallValues call;

  @Setup
  public void setUp() {
    service = ApplicationContext.run(Map.of(BenchmarkService.NO_OP, false));
    plans = service.getBean(PlanRegistry.class);
    method =
        service.getBean(Router.class).route(HttpMethod.GET, "/limited").stream()
            .map(match -> ((MethodExecutionHandle<?, ?>) match).getExecutableMethod())
            .findFirst()
            .orElseThrow();
    plan = plans.of(method).orElseThrow();
    subjects = service.getBean(RequestSubjects.class);
    settings = service.getBean(PoliciesConfiguration.class);
    HttpRequest<?> request = HttpRequest.GET("/limited");
    call =
        new CallValues() {
          @Override
          public Subject subject(SubjectSource source) {
            return subjects.resolve(source, request);
          }

          @Override
          public Optional<HttpRequest<?>> request() {
            return Optional.of(request);
          }

          @Override
          public HttpRequest<?> requestFor(String what, String remedy) {
            return request;
          }
        };
    limit = "io.limiter.benchmarks.server.LimitedController.limited()";
    address = new Subject("ip", "203.0.113.195");
    verdict =
        new Limiter(new MemoryStore()).acquire(OverWire.request()).toCompletableFuture().join();
    fields =
        new RateLimitFields(
            new HeadersConfiguration(
                Set.of(HeadersConfiguration.Format.DRAFT_11), true, 0, false, false),
            List.of());
  }

  @TearDown
  public void tearDown() {
    service.close();
  }

  /** The plan of the method that a request calls. */
  @Benchmark
  public Optional<LimitPlan> plan() {
    return plans.of(method);
  }

  /** What the store is asked for a request: its subject, the name of its state and its charges. */
  @Benchmark
  public Optional<LimitRequest> charges() {
    return plan.request(call);
  }

  /** What a request pays for tiers, conditions, exempt and blocked callers where there are none. */
  @Benchmark
  public boolean callers() {
    return plan.isSameForAll() && settings.block() == null;
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
    fields.write(verdict, response);
    return response;
  }

  /** The empty response alone. */
  @Benchmark
  public MutableHttpResponse<?> response() {
    return HttpResponse.ok();
  }
}
