// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Introspected;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.http.annotation.RequestBean;
import io.micronaut.json.JsonMapper;
import io.micronaut.serde.ObjectMapper;
import io.micronaut.serde.annotation.Serdeable;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * With micronaut-serde, which writes only what is meant to be written: the build runs it with that.
 */
class SerdeArgumentsIT {

  private static final String SPEC = "SerdeArgumentsIT";

  @Serdeable
  record Order(String item) {}

  /** Can be bound, but not written. */
  @Introspected
  record Filter(@QueryValue String item) {}

  @Controller("/serde")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {
    @Post("/written")
    @RateLimiter(preventDuplicate = true, preventDuplicateRule = @RateRule(time = 60))
    String written(@Body List<Order> orders) {
      return "ok";
    }

    @Post("/unwritable")
    @RateLimiter(preventDuplicate = true, preventDuplicateRule = @RateRule(time = 60))
    String unwritable(@RequestBean Filter filter) {
      return "ok";
    }
  }

  @Controller("/mistake")
  @Requires(property = "spec.name", value = SPEC + ".mistake")
  static class Mistake {
    @Post
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    String call(List<Filter> filters) {
      return "ok";
    }
  }

  @Test
  void theDefaultComparesWhatSerdeWrites() {
    try (TestServer server = TestServer.start(SPEC)) {
      assertThat(server.bean(JsonMapper.class)).isInstanceOf(ObjectMapper.class);
      assertThat(server.post("/serde/written", "[{\"item\":\"tea\"}]").statusCode()).isEqualTo(200);
      assertThat(server.post("/serde/written", "[{\"item\":\"coffee\"}]").statusCode())
          .isEqualTo(200);
      assertThat(server.post("/serde/written", "[{\"item\":\"tea\"}]").statusCode()).isEqualTo(409);

      assertThat(server.post("/serde/unwritable?item=tea", "{}").statusCode()).isEqualTo(200);
      assertThat(server.post("/serde/unwritable?item=coffee", "{}").statusCode()).isEqualTo(409);
    }
  }

  @Test
  void anArgumentThatSerdeCannotWriteStopsTheStart() {
    assertThat(Starts.mistake(Map.of("spec.name", SPEC + ".mistake")))
        .hasMessageStartingWith(Mistake.class.getName() + ".call(")
        .hasMessageContaining("@RateLimiter.duplicate.by = ARGUMENTS: the parameter 'filters'")
        .hasMessageContaining("which micronaut-serde cannot write (")
        .hasMessageContaining(Filter.class.getSimpleName())
        .hasMessageContaining("use DuplicateBy.CALLER");
  }
}
