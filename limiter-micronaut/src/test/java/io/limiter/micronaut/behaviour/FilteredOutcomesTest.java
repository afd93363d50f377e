// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.limiter.micronaut.behaviour.OutcomeTableRoutes.Handled;
import io.limiter.micronaut.behaviour.OutcomeTableTest.Seen;
import io.limiter.micronaut.http.GateFilter;
import io.limiter.micronaut.http.LimitedResponseFilter;
import io.limiter.micronaut.testing.StatedCallers;
import io.micronaut.context.annotation.Property;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.order.Ordered;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.Filter;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ResponseFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.http.exceptions.HttpStatusException;
import io.micronaut.http.filter.FilterContinuation;
import io.micronaut.http.filter.HttpServerFilter;
import io.micronaut.http.filter.ServerFilterChain;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.assertj.core.api.SoftAssertions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * The outcome of a call is what its client got, also where a filter of the application made that of
 * the response: each kind of filter, at each order, with each change.
 */
@Tag("matrix")
class FilteredOutcomesTest extends WithAndWithoutGate {

  private static final String ORDER = "test.order";
  private static final String FILTER = "X-Filter";
  private static final String CHANGE = "X-Change";

  FilteredOutcomesTest() {
    super(OutcomeTableRoutes.SPEC, Map.of("test.stated-callers", true));
  }

  /** Each is its answer as it leaves the route, and what the filter does. */
  private enum Change {
    OK_TO_503("OK", 503),
    OK_TO_401("OK", 401),
    OK_TO_TEAPOT("OK", 418),
    DENIED_TO_200("RETURNED_401", 200),
    THROWS("OK", 0),
    THROWS_HANDLED("OK", 0),
    THROWS_STATUS("OK", 0),
    DENIED_THEN_THROWS("RETURNED_401", 0);

    final String way;
    final int status;

    Change(String way, int status) {
      this.way = way;
      this.status = status;
    }

    private void pass() {
      switch (this) {
        case THROWS, DENIED_THEN_THROWS -> throw new IllegalStateException("filter");
        case THROWS_HANDLED -> throw new Handled(HttpStatus.UNAUTHORIZED);
        case THROWS_STATUS -> throw new HttpStatusException(HttpStatus.SERVICE_UNAVAILABLE, "no");
        default -> {}
      }
    }
  }

  private enum Kind {
    CHANGING,
    REPLACING,
    PUBLISHER,
    STAGE,
    CONTINUATION,
    OLDER
  }

  @ParameterizedTest
  @ValueSource(
      ints = {
        Ordered.HIGHEST_PRECEDENCE,
        Ordered.HIGHEST_PRECEDENCE + 1,
        0,
        LimitedResponseFilter.ORDER - 10,
        GateFilter.ORDER_BEFORE_SECURITY + 10,
        GateFilter.ORDER + 10,
        Ordered.LOWEST_PRECEDENCE
      })
  void whatAFilterMakesOfTheAnswerDecides(int order) {
    SoftAssertions softly = new SoftAssertions();
    try (TestServer filtered = start(Map.of("test.stated-callers", true, ORDER, order))) {
      int callers = 0;
      for (Kind kind : Kind.values()) {
        for (Change change : Change.values()) {
          for (String routes : new String[] {"listed/", "usual/"}) {
            String[] headers = {
              StatedCallers.ADDRESS, "filtered-" + callers++, FILTER, "" + kind, CHANGE, "" + change
            };
            String path = "/table/" + routes + "response?way=";
            Seen seen = Seen.of(filtered, path, change.way, headers);

            boolean listed = routes.equals("listed/");
            boolean failed = listed ? seen.status() == 401 : seen.status() >= 400;
            softly
                .assertThat(seen)
                .as("%s %s %s", kind, change, routes)
                .isEqualTo(
                    new Seen(
                        seen.status(),
                        failed ? 1 : 0,
                        failed ? 0 : 1,
                        listed ? seen.status() == 401 : seen.status() >= 500));
            if (change.status != 0 && change != Change.OK_TO_TEAPOT) {
              softly.assertThat(seen.status()).as("%s %s", kind, change).isEqualTo(change.status);
            }
          }
        }
      }
    }
    softly.assertAll();
  }

  /** What a filter does is what the request states. */
  abstract static class Changing implements Ordered {

    private final Kind kind;
    private final int order;

    Changing(Kind kind, int order) {
      this.kind = kind;
      this.order = order;
    }

    @Override
    public int getOrder() {
      return order;
    }

    boolean changes(HttpRequest<?> request) {
      return kind.name().equals(request.getHeaders().get(FILTER));
    }

    MutableHttpResponse<?> change(HttpRequest<?> request, MutableHttpResponse<?> response) {
      return changes(request) ? changed(request, response) : response;
    }
  }

  private static MutableHttpResponse<?> changed(
      HttpRequest<?> request, MutableHttpResponse<?> response) {
    Change change = Change.valueOf(request.getHeaders().get(CHANGE));
    change.pass();
    MutableHttpResponse<?> changed = HttpResponse.status(change.status, "changed");
    response.getHeaders().forEachValue(changed.getHeaders()::add);
    return changed.body("changed");
  }

  @ServerFilter("/table/**")
  @Requires(property = ORDER)
  static class Mutating extends Changing {
    Mutating(@Property(name = ORDER) int order) {
      super(Kind.CHANGING, order);
    }

    @ResponseFilter
    void filter(HttpRequest<?> request, MutableHttpResponse<?> response) {
      if (changes(request)) {
        response.status(changed(request, response).code());
      }
    }
  }

  @ServerFilter("/table/**")
  @Requires(property = ORDER)
  static class Replacing extends Changing {
    Replacing(@Property(name = ORDER) int order) {
      super(Kind.REPLACING, order);
    }

    @ResponseFilter
    MutableHttpResponse<?> filter(HttpRequest<?> request, MutableHttpResponse<?> response) {
      return change(request, response);
    }
  }

  @ServerFilter("/table/**")
  @Requires(property = ORDER)
  static class Publishing extends Changing {
    Publishing(@Property(name = ORDER) int order) {
      super(Kind.PUBLISHER, order);
    }

    @ResponseFilter
    Publisher<MutableHttpResponse<?>> filter(
        HttpRequest<?> request, MutableHttpResponse<?> response) {
      return Mono.fromCallable(() -> change(request, response));
    }
  }

  @ServerFilter("/table/**")
  @Requires(property = ORDER)
  static class Staged extends Changing {
    Staged(@Property(name = ORDER) int order) {
      super(Kind.STAGE, order);
    }

    @ResponseFilter
    CompletionStage<MutableHttpResponse<?>> filter(
        HttpRequest<?> request, MutableHttpResponse<?> response) {
      return changes(request)
          ? CompletableFuture.supplyAsync(() -> changed(request, response))
          : CompletableFuture.completedFuture(response);
    }
  }

  @ServerFilter("/table/**")
  @Requires(property = ORDER)
  static class Continuing extends Changing {
    Continuing(@Property(name = ORDER) int order) {
      super(Kind.CONTINUATION, order);
    }

    @RequestFilter
    Publisher<MutableHttpResponse<?>> filter(
        HttpRequest<?> request, FilterContinuation<Publisher<MutableHttpResponse<?>>> rest) {
      return Flux.from(rest.proceed()).map(response -> change(request, response));
    }
  }

  @Filter("/table/**")
  @Requires(property = ORDER)
  static class Older extends Changing implements HttpServerFilter {
    Older(@Property(name = ORDER) int order) {
      super(Kind.OLDER, order);
    }

    @Override
    public int getOrder() {
      return super.getOrder();
    }

    @Override
    public Publisher<MutableHttpResponse<?>> doFilter(
        HttpRequest<?> request, ServerFilterChain chain) {
      return Flux.from(chain.proceed(request)).map(response -> change(request, response));
    }
  }
}
