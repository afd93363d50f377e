// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import io.limiter.core.testing.RecordedLog;
import io.limiter.micronaut.http.GateFilter;
import io.limiter.micronaut.testing.HttpService;
import io.limiter.micronaut.testing.MicronautVersion;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Order;
import io.micronaut.core.order.Ordered;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.MutableHttpRequest;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.Filter;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.http.filter.ClientFilterChain;
import io.micronaut.http.filter.FilterChain;
import io.micronaut.http.filter.HttpClientFilter;
import io.micronaut.http.filter.HttpFilter;
import io.micronaut.http.filter.HttpServerFilter;
import io.micronaut.http.filter.ServerFilterChain;
import io.micronaut.http.server.annotation.PreMatching;
import io.micronaut.runtime.http.scope.RequestScope;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Mono;

/**
 * Filters that answer requests themselves, as a proxy does: those behind the gate are limited,
 * others are not, and the log names them at the start, as a warning if no order was chosen.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class FilterOrdersTest {

  private static final String SPEC = "FilterOrdersTest";
  private static final String KIND = "X-Kind";
  private static final int BEHIND = GateFilter.ORDER + 100;
  private static final int BEFORE = GateFilter.ORDER_BEFORE_SECURITY - 100;

  private final RecordedLog log =
      RecordedLog.ofInfo("io.limiter.micronaut.diagnostics.FilterWarnings");
  private final HttpService service =
      HttpService.start(
          SPEC,
          HttpService.settings(
              "limiter.policies.proxied.rules[0].count",
              1,
              "limiter.policies.proxied.header",
              KIND,
              "limiter.routes[0].path",
              "/proxied/**",
              "limiter.routes[0].policy",
              "proxied"));

  @AfterAll
  void close() {
    service.close();
    log.close();
  }

  @ParameterizedTest
  @CsvSource({
    "ServerFilter/behind, 429",
    "ServerFilter/before, 200",
    "ServerFilter/ordered-behind, 429",
    "ServerFilter/ordered-before, 200",
    "ServerFilter/ordered-without, 200",
    "ServerFilter/ordered-annotated, 429",
    "ServerFilter/method-before, 200",
    "ServerFilter/pre-matching, 200",
    "HttpServerFilter/none, 200",
    "HttpServerFilter/annotated-behind, 200",
    "HttpServerFilter/behind, 429",
    "HttpServerFilter/before, 200",
    "HttpServerFilter/of-requests, 429",
    "HttpFilter/none, 200",
  })
  void aFilterBehindTheGateIsLimited(String kind, int second) {
    assertThat(service.get("/proxied/" + kind, KIND, kind).body()).isEqualTo("proxied");
    assertThat(service.get("/proxied/" + kind, KIND, kind).statusCode()).isEqualTo(second);
  }

  /** Its order is the last in Micronaut 4, and 0 in Micronaut 5. */
  @Test
  void aFilterWithoutAnOrderIsLimitedInMicronaut4Only() {
    aFilterBehindTheGateIsLimited("ServerFilter/none", MicronautVersion.either(429, 200));
  }

  @Test
  void filtersBeforeTheGateWithoutAnOrderAreNamed() {
    assertThat(line(Level.WARN))
        .startsWith("Filters without an order of their own run before the gate")
        .contains(MicronautVersion.either(": 4 (", ": 5 ("), "$OrderedWithout). ")
        .contains("$Either, ", "$LegacyAnnotated, ", "$LegacyNone, ")
        .contains(MicronautVersion.either("", "$None, "))
        .doesNotContain("$OfClients");
  }

  @Test
  void filtersBeforeTheGateByAChosenOrderAreNamed() {
    assertThat(line(Level.INFO))
        .startsWith("Filters run before the gate")
        .contains(": 5 (", "$OrderedBefore). ")
        .contains("$Before, ", "$BeforeMatching, ", "$LegacyBefore, ", "$MethodBefore, ");
  }

  private String line(Level level) {
    assertThat(log.events()).filteredOn(event -> event.getLevel() == level).hasSize(1);
    return log.events().stream()
        .filter(event -> event.getLevel() == level)
        .findFirst()
        .orElseThrow()
        .getFormattedMessage();
  }

  /** Answers each request. */
  abstract static class Proxy {
    @RequestFilter
    HttpResponse<?> answer() {
      return HttpResponse.ok("proxied");
    }
  }

  @ServerFilter("/proxied/ServerFilter/none")
  @Requires(property = "spec.name", value = SPEC)
  static class None extends Proxy {}

  @ServerFilter("/proxied/ServerFilter/behind")
  @Order(BEHIND)
  @Requires(property = "spec.name", value = SPEC)
  static class Behind extends Proxy {}

  @ServerFilter("/proxied/ServerFilter/before")
  @Order(BEFORE)
  @Requires(property = "spec.name", value = SPEC)
  static class Before extends Proxy {}

  @ServerFilter("/proxied/ServerFilter/ordered-behind")
  @Requires(property = "spec.name", value = SPEC)
  static class OrderedBehind extends Proxy implements Ordered {
    @Override
    public int getOrder() {
      return BEHIND;
    }
  }

  @ServerFilter("/proxied/ServerFilter/ordered-before")
  @Requires(property = "spec.name", value = SPEC)
  static class OrderedBefore extends Proxy implements Ordered {
    @Override
    public int getOrder() {
      return BEFORE;
    }
  }

  @ServerFilter("/proxied/ServerFilter/ordered-annotated")
  @Order(BEHIND)
  @Requires(property = "spec.name", value = SPEC)
  static class OrderedAnnotated extends Proxy implements Ordered {}

  @ServerFilter("/proxied/ServerFilter/ordered-without")
  @Requires(property = "spec.name", value = SPEC)
  static class OrderedWithout extends Proxy implements Ordered {}

  @ServerFilter("/proxied/ServerFilter/method-before")
  @Order(BEHIND)
  @Requires(property = "spec.name", value = SPEC)
  static class MethodBefore {
    @RequestFilter
    @Order(BEFORE)
    HttpResponse<?> answer() {
      return HttpResponse.ok("proxied");
    }
  }

  @ServerFilter("/proxied/ServerFilter/pre-matching")
  @Requires(property = "spec.name", value = SPEC)
  static class BeforeMatching {
    @PreMatching
    @RequestFilter
    HttpResponse<?> answer() {
      return HttpResponse.ok("proxied");
    }
  }

  /** Answers as a filter of the older kind. */
  abstract static class LegacyProxy implements HttpServerFilter {
    @Override
    public Publisher<MutableHttpResponse<?>> doFilter(
        HttpRequest<?> request, ServerFilterChain chain) {
      return Mono.just(HttpResponse.ok("proxied"));
    }
  }

  /** Of the kind that may filter servers and clients. */
  @Filter("/proxied/HttpFilter/none")
  @Requires(property = "spec.name", value = SPEC)
  static class Either implements HttpFilter {
    @Override
    public Publisher<? extends HttpResponse<?>> doFilter(
        HttpRequest<?> request, FilterChain chain) {
      return Mono.just(HttpResponse.ok("proxied"));
    }
  }

  @Filter("/elsewhere")
  @Requires(property = "spec.name", value = SPEC)
  static class OfClients implements HttpClientFilter {
    @Override
    public Publisher<? extends HttpResponse<?>> doFilter(
        MutableHttpRequest<?> request, ClientFilterChain chain) {
      return chain.proceed(request);
    }
  }

  @Filter("/proxied/HttpServerFilter/none")
  @Requires(property = "spec.name", value = SPEC)
  static class LegacyNone extends LegacyProxy {}

  @Filter("/proxied/HttpServerFilter/annotated-behind")
  @Order(BEHIND)
  @Requires(property = "spec.name", value = SPEC)
  static class LegacyAnnotated extends LegacyProxy {}

  @Filter("/proxied/HttpServerFilter/behind")
  @Requires(property = "spec.name", value = SPEC)
  static class LegacyBehind extends LegacyProxy {
    @Override
    public int getOrder() {
      return BEHIND;
    }
  }

  /** At the start there is no request, and so no bean that could be asked for its order. */
  @RequestScope
  @Filter("/proxied/HttpServerFilter/of-requests")
  @Requires(property = "spec.name", value = SPEC)
  static class LegacyOfRequests extends LegacyProxy {
    @Override
    public int getOrder() {
      return BEHIND;
    }
  }

  @Filter("/proxied/HttpServerFilter/before")
  @Requires(property = "spec.name", value = SPEC)
  static class LegacyBefore extends LegacyProxy {
    @Override
    public int getOrder() {
      return BEFORE;
    }
  }
}
