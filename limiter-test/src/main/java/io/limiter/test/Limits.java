// SPDX-License-Identifier: Apache-2.0
package io.limiter.test;

import static org.junit.jupiter.api.Assertions.fail;

import io.limiter.core.Verdict;
import io.limiter.micronaut.call.LimitWarnings;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.micronaut.core.async.publisher.Publishers;
import io.micronaut.core.convert.ConversionService;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpResponseProvider;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.function.Executable;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;

/**
 * Makes calls, and fails the test if limits admit or deny other calls than expected:
 *
 * <pre>{@code
 * limits.assertAdmits(10, () -> client.toBlocking().exchange("/articles"))
 *     .thenDenies()
 *     .withStatus(429)
 *     .withRetryAfter(Duration.ofMinutes(1));
 * }</pre>
 *
 * <p>A call may use Micronaut's HTTP client, another one, or a limited bean. It is denied if it
 * throws a {@link LimitDeniedException}, or if its response has an error status and a limit denied
 * it while it ran. It is admitted if it returns anything other than a response with an error
 * status. A call that fails in another way is neither: its exception is thrown, and a response with
 * another error status, such as 404, fails the test, unless {@link #expecting} names it.
 *
 * <p>A call may return a {@link CompletionStage} or a {@code Publisher}, whose completion is
 * awaited for at most ten seconds. A status is read from a response of Micronaut or of the JDK's
 * client; for another client, return the status from the call as an {@code Integer}.
 */
public final class Limits {

  private static final int FIRST_ERROR = 400;
  private static final int LAST_ERROR = 599;
  private static final long LONGEST_SECONDS = 10;

  private final TestStore store;
  private final LimitWarnings warnings;
  private final List<Integer> expected;

  Limits(TestStore store, LimitWarnings warnings) {
    this(store, warnings, List.of());
  }

  private Limits(TestStore store, LimitWarnings warnings, List<Integer> expected) {
    this.store = store;
    this.warnings = warnings;
    this.expected = expected;
  }

  /**
   * Returns the assertions for calls that end with an error status when they are admitted, such as
   * 401 for a wrong password. These statuses count as admitted, unless a limit denied the call.
   *
   * @param statuses 400 to 599
   */
  public Limits expecting(int... statuses) {
    return new Limits(store, warnings, Arrays.stream(statuses).boxed().toList());
  }

  /**
   * Makes calls one after another, all of which must be admitted.
   *
   * @param calls how many, 0 or more
   * @param call makes one call
   * @return for what the same call must do next
   * @throws AssertionError if one is denied
   */
  public Calls assertAdmits(int calls, Callable<?> call) {
    return new Calls(call).thenAdmits(calls);
  }

  /** The same for a call without a result. */
  public Calls assertAdmits(int calls, Executable call) {
    return assertAdmits(calls, returning(call));
  }

  /**
   * Makes one call, which must be denied.
   *
   * @throws AssertionError if it is admitted
   */
  public DeniedCalls assertDenies(Callable<?> call) {
    return new Calls(call).thenDenies();
  }

  /** The same for a call without a result. */
  public DeniedCalls assertDenies(Executable call) {
    return assertDenies(returning(call));
  }

  /**
   * Forgets all counts, and sets the clock to {@link TestClock#START}, as before each test.
   *
   * @throws IllegalStateException if Redis does not answer
   */
  public void reset() {
    store.forget();
    warnings.forget();
  }

  private static Callable<?> returning(Executable call) {
    return () -> {
      try {
        call.execute();
      } catch (Throwable failure) {
        throw Limits.<RuntimeException>same(failure);
      }
      return "";
    };
  }

  /** Throws a checked exception unchanged. */
  @SuppressWarnings("unchecked")
  private static <E extends Throwable> RuntimeException same(Throwable failure) throws E {
    throw (E) failure;
  }

  /**
   * How a call ended.
   *
   * @param denied the verdict, if a limit denied it
   * @param decided whether a limit decided it
   * @param response what the caller received, of Micronaut's client
   */
  private record Ended(
      OptionalInt status,
      Optional<Verdict> denied,
      boolean decided,
      Optional<HttpResponse<?>> response) {

    private String how() {
      return status.isPresent() ? "with the status " + status.getAsInt() : "by an exception";
    }
  }

  private Ended end(Callable<?> call, String which) {
    long before = store.decisions();
    Object result;
    try {
      result = awaited(call.call());
    } catch (Throwable thrown) {
      return thrown(thrown, before);
    }
    return returned(result, before, which);
  }

  private Ended thrown(Throwable thrown, long before) {
    Throwable failure = thrown;
    while ((failure instanceof CompletionException || failure instanceof ExecutionException)
        && failure.getCause() != null) {
      failure = failure.getCause();
    }
    if (failure instanceof LimitDeniedException denial) {
      return new Ended(OptionalInt.empty(), Optional.of(denial.verdict()), true, Optional.empty());
    }
    if (failure instanceof HttpResponseProvider withResponse) {
      HttpResponse<?> response = withResponse.getResponse();
      Optional<Verdict> denied = store.deniedAfter(before);
      if (denied.isPresent() || expected.contains(response.code())) {
        return new Ended(
            OptionalInt.of(response.code()),
            denied,
            store.decisions() > before,
            Optional.of(response));
      }
    }
    throw Limits.<RuntimeException>same(thrown);
  }

  private Ended returned(@Nullable Object result, long before, String which) {
    boolean decided = store.decisions() > before;
    if (result instanceof Verdict verdict) {
      return new Ended(
          OptionalInt.empty(),
          Optional.of(verdict).filter(each -> !each.allowed()),
          true,
          Optional.empty());
    }
    Optional<HttpResponse<?>> response =
        result instanceof HttpResponse<?> ofMicronaut ? Optional.of(ofMicronaut) : Optional.empty();
    int status = status(result);
    if (status < FIRST_ERROR || status > LAST_ERROR) {
      return new Ended(
          response.isPresent() ? OptionalInt.of(status) : OptionalInt.empty(),
          Optional.empty(),
          decided,
          response);
    }
    Optional<Verdict> denied = store.deniedAfter(before);
    if (denied.isEmpty() && !expected.contains(status) && !(result instanceof Integer)) {
      return fail(
          "%s ended with the status %s, and no limit denied it: expecting(%s) counts it as admitted, if the call is meant to end this way"
              .formatted(which, status, status));
    }
    return new Ended(OptionalInt.of(status), denied, decided, response);
  }

  private static int status(@Nullable Object result) {
    if (result instanceof HttpResponse<?> response) {
      return response.code();
    }
    if (result instanceof java.net.http.HttpResponse<?> response) {
      return response.statusCode();
    }
    return result instanceof Integer status ? status : 0;
  }

  private static @Nullable Object awaited(@Nullable Object result) throws Exception {
    if (result instanceof CompletionStage<?> stage) {
      try {
        return stage.toCompletableFuture().get(LONGEST_SECONDS, TimeUnit.SECONDS);
      } catch (TimeoutException e) {
        return fail("The call has not completed within %s s".formatted(LONGEST_SECONDS), e);
      }
    }
    if (result != null && Publishers.isConvertibleToPublisher(result)) {
      Publisher<?> publisher =
          Publishers.convertPublisher(ConversionService.SHARED, result, Publisher.class);
      return Flux.from(publisher).blockLast(Duration.ofSeconds(LONGEST_SECONDS));
    }
    return result;
  }

  /** Calls that were made, and what the same call must do next. */
  public sealed class Calls permits DeniedCalls {

    private final Callable<?> call;
    private int made;

    private Calls(Callable<?> call) {
      this.call = call;
    }

    /**
     * Makes further calls, all of which must be admitted.
     *
     * @param calls how many, 0 or more
     * @throws AssertionError if one is denied
     */
    public Calls thenAdmits(int calls) {
      if (calls < 0) {
        throw new IllegalArgumentException("thenAdmits(%s): use 0 or more calls".formatted(calls));
      }
      int admitted = 0;
      for (int i = 1; i <= calls; i++) {
        made++;
        Ended end = end(call, "Call " + made);
        if (end.denied.isPresent()) {
          return fail(
              "Call %s was denied %s, by %s; expected: %s admitted, were: %s"
                  .formatted(made, end.how(), text(end.denied.get()), calls, admitted));
        }
        admitted++;
      }
      return this;
    }

    /**
     * Makes another call, which must be denied.
     *
     * @throws AssertionError if it is admitted
     */
    public DeniedCalls thenDenies() {
      return thenDenies(1);
    }

    /**
     * Makes further calls, all of which must be denied.
     *
     * @param calls how many, 1 or more
     * @return for the last denial
     * @throws AssertionError if one is admitted
     */
    public DeniedCalls thenDenies(int calls) {
      if (calls < 1) {
        throw new IllegalArgumentException("thenDenies(%s): use 1 or more calls".formatted(calls));
      }
      Ended last = null;
      for (int i = 1; i <= calls; i++) {
        made++;
        last = end(call, "Call " + made);
        if (last.denied.isEmpty()) {
          return fail(
              "Call %s should have been denied, but was admitted%s%s"
                  .formatted(
                      made,
                      last.status.isPresent() ? " with the status " + last.status.getAsInt() : "",
                      last.decided
                          ? ""
                          : ": no limit decided it. Check whether its method is limited, and whether its caller is exempt"));
        }
      }
      return new DeniedCalls(this, Objects.requireNonNull(last));
    }
  }

  /** Calls of which the last one was denied. */
  public final class DeniedCalls extends Calls {

    private final Ended end;
    private final Verdict verdict;

    private DeniedCalls(Calls calls, Ended end) {
      super(calls.call);
      super.made = calls.made;
      this.end = end;
      this.verdict = end.denied.orElseThrow();
    }

    /**
     * The denial's response must have this status.
     *
     * @throws AssertionError if it has another one, or if it is an exception
     */
    public DeniedCalls withStatus(int status) {
      return require(end.status.equals(OptionalInt.of(status)), "the status " + status);
    }

    /**
     * The policy must have this name.
     *
     * @throws AssertionError if another policy denied the call
     */
    public DeniedCalls byPolicy(String name) {
      return require(verdict.policy().name().equals(name), "the policy " + name);
    }

    /**
     * A rule of this name must be among those that denied the call.
     *
     * @param name as in {@code 10-per-60s}
     * @throws AssertionError if it is not
     */
    public DeniedCalls byRule(String name) {
      return require(
          verdict.violated().stream().anyMatch(rule -> rule.rule().name().equals(name)),
          "the rule " + name);
    }

    /**
     * The call must be denied for exactly this time from now. The field {@code Retry-After} has it
     * in seconds, rounded up.
     *
     * @throws AssertionError if it is denied for another time, or for an unknown one
     */
    public DeniedCalls withRetryAfter(Duration time) {
      return require(verdict.retryAfter().equals(Optional.of(time)), "a retry after " + time);
    }

    /** The verdict that denied the call. */
    public Verdict verdict() {
      return verdict;
    }

    /**
     * The denial's response, for its header fields and its body.
     *
     * @throws AssertionError if the call was not made by Micronaut's HTTP client
     */
    public HttpResponse<?> response() {
      return end.response.orElseGet(
          () -> fail("The call was denied %s, which is not a Micronaut response".formatted(how())));
    }

    private DeniedCalls require(boolean condition, String what) {
      return condition
          ? this
          : fail(
              "Call %s was denied %s, by %s; expected: %s"
                  .formatted(super.made, how(), text(verdict), what));
    }

    private String how() {
      return end.how();
    }
  }

  private static String text(Verdict verdict) {
    String rules =
        verdict.violated().stream()
            .map(rule -> rule.rule().name())
            .collect(Collectors.joining(" and "));
    String who =
        switch (verdict.outcome()) {
          case LIMITED -> "the rule %s of the policy %s".formatted(rules, policy(verdict));
          case BANNED -> "a ban of the policy " + policy(verdict);
          case DUPLICATE -> "the duplicate guard of the policy " + policy(verdict);
          default -> "the policy %s (%s)".formatted(policy(verdict), verdict.outcome());
        };
    return who
        + verdict.retryAfter().map(time -> ", retry after " + time).orElse("")
        + verdict.reason().map(why -> ", decided by the fallback: " + why).orElse("");
  }

  private static String policy(Verdict verdict) {
    return verdict.policy().name();
  }
}
