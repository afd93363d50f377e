// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.cold;

import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;

/** The outcomes of calls: how many were admitted, and where each was decided. */
record CallOutcomes(List<Answer> all) {

  /**
   * The header field with the store or the fallback, and the reason of the fallback in brackets.
   */
  private static final String DECIDER = "X-Decided-By";

  /** Longer than a call waits in any queue of the demo. */
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  /**
   * One answer.
   *
   * @param status 0 if there was none
   * @param decider such as {@code STORE} or {@code FALLBACK (TIMEOUT)}
   * @param nanos from the sending of the request to the whole answer
   */
  record Answer(int status, String decider, long nanos) {}

  CallOutcomes {
    all = List.copyOf(all);
  }

  /** Sends the requests in their order, so many at a time, and waits for all answers. */
  static CallOutcomes to(List<HttpRequest> requests, int atOnce) {
    ExecutorService threads = Executors.newFixedThreadPool(atOnce);
    try {
      HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
      List<Future<Answer>> answers = new ArrayList<>();
      requests.forEach(request -> answers.add(threads.submit(() -> to(request, client))));
      List<Answer> all = new ArrayList<>();
      for (Future<Answer> answer : answers) {
        all.add(answer.get());
      }
      return new CallOutcomes(all);
    } catch (ExecutionException e) {
      throw new IllegalStateException("A call cannot be made", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Interrupted while answers were awaited", e);
    } finally {
      threads.shutdownNow();
    }
  }

  private static Answer to(HttpRequest request, HttpClient client) throws InterruptedException {
    long begin = System.nanoTime();
    try {
      HttpResponse<Void> answer =
          client.send(
              HttpRequest.newBuilder(request, (name, value) -> true).timeout(PATIENCE).build(),
              BodyHandlers.discarding());
      return new Answer(
          answer.statusCode(),
          answer.headers().firstValue(DECIDER).orElse("no " + DECIDER),
          System.nanoTime() - begin);
    } catch (IOException e) {
      return new Answer(0, "no answer: " + e.getMessage(), System.nanoTime() - begin);
    }
  }

  CallOutcomes and(CallOutcomes others) {
    List<Answer> both = new ArrayList<>(all);
    both.addAll(others.all);
    return new CallOutcomes(both);
  }

  long withStatus(int status) {
    return all.stream().filter(answer -> answer.status == status).count();
  }

  /** How many were decided elsewhere, or had no answer. */
  long notBy(Set<String> deciders) {
    return all.stream().filter(answer -> !deciders.contains(answer.decider)).count();
  }

  /** How many calls each has decided, as tables show it: {@code DENY_CACHE 326, STORE 74}. */
  String decided() {
    Map<String, Long> deciders =
        all.stream()
            .collect(Collectors.groupingBy(Answer::decider, TreeMap::new, Collectors.counting()));
    return deciders.entrySet().stream()
        .map(decider -> decider.getKey() + " " + decider.getValue())
        .collect(Collectors.joining(", "));
  }

  /** The longest that any took, in milliseconds. */
  double slowestMillis() {
    return all.stream().mapToLong(Answer::nanos).max().orElse(0) / 1e6;
  }
}
