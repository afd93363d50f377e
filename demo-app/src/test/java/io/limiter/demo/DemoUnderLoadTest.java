// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpResponse;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;

/** One limit for all who call at the same time, whichever instance they call. */
class DemoUnderLoadTest {

  @Test
  void twoInstancesTogetherAdmitNoMoreThanOneMay() {
    String service = Demo.newService();
    try (Demo one = new Demo(service);
        Demo other = new Demo(service)) {
      List<CompletableFuture<HttpResponse<String>>> calls =
          IntStream.range(0, 400)
              .mapToObj(i -> (i % 2 == 0 ? one : other).getLater("/articles"))
              .toList();
      List<Integer> statuses =
          calls.stream().map(CompletableFuture::join).map(HttpResponse::statusCode).toList();

      assertThat(statuses).containsOnly(200, 429);
      assertThat(statuses).filteredOn(status -> status == 200).hasSize(10);
    }
  }

  @RepeatedTest(5)
  void oneOfTwoEqualOrdersAtOnceIsTaken() {
    String service = Demo.newService();
    try (Demo one = new Demo(service);
        Demo other = new Demo(service)) {
      List<CompletableFuture<HttpResponse<String>>> orders =
          Stream.of(one, other)
              .map(demo -> demo.postLater("/orders", "{\"item\":\"tea\"}"))
              .toList();

      assertThat(orders)
          .extracting(CompletableFuture::join)
          .extracting(HttpResponse::statusCode)
          .containsExactlyInAnyOrder(201, 409);
      HttpResponse<String> next = one.post("/orders", "{\"item\":\"milk\"}");
      assertThat(next.headers().firstValue("RateLimit"))
          .hasValueSatisfying(field -> assertThat(field).startsWith("\"5-per-10s\";r=3;"));
    }
  }
}
