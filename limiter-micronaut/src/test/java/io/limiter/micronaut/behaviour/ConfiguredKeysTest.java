// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.SubjectResolver;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;
import jakarta.inject.Named;
import jakarta.inject.Singleton;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Each setting of a policy and of a rule, over HTTP: what callers get with it. */
@Tag("matrix")
class ConfiguredKeysTest {

  private static final String SPEC = "ConfiguredKeysTest";

  @Controller("/k")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    @Get("/plain")
    @RateLimiter(value = "plain", rules = @RateRule(name = "r", count = 2))
    String plain() {
      return "ok";
    }

    @Get("/guard")
    @RateLimiter(
        value = "guard",
        preventDuplicate = true,
        duplicate = @Duplicate(by = DuplicateBy.CALLER))
    HttpResponse<String> guard(@QueryValue(defaultValue = "200") int status) {
      return HttpResponse.<String>status(HttpStatus.valueOf(status)).body("ok");
    }

    @Get("/failing")
    @RateLimiter(
        value = "failing",
        rules = @RateRule(name = "r", count = 2, counts = Counts.FAILURES))
    HttpResponse<String> failing(@QueryValue int status) {
      return HttpResponse.<String>status(HttpStatus.valueOf(status)).body("ok");
    }
  }

  @Singleton
  @Named("tenants")
  @Requires(property = "spec.name", value = SPEC)
  static class Tenants implements SubjectResolver {
    @Override
    public Optional<String> resolve(HttpRequest<?> request) {
      return Optional.ofNullable(request.getHeaders().get("X-Tenant"));
    }
  }

  /**
   * @param settings of a policy, separated by semicolons; of a single rule under its name
   * @param path what is called
   * @param calls the calls: headers, and the status that each gets; "X-Key: a 200" for example
   * @param last what the last response contains in a header field or in its body
   */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      nullValues = "-",
      value = {
        "plain.enabled=false                     | /k/plain   | 200, 200, 200, 200                | -",
        "plain.observe=true                      | /k/plain   | 200, 200, 200, 200                | -",
        "plain.deny-cache=false                  | /k/plain   | 200, 200, 429, 429                | -",
        "plain.fallback=deny                     | /k/plain   | 200, 200, 429                     | -",
        "plain.deadline=9s                       | /k/plain   | 200, 200, 429                     | -",
        "plain.lease=100ms                       | /k/plain   | 200, 200, 429                     | -",
        "plain.warn-at=0.5                       | /k/plain   | 200, 200, 429                     | -",
        "plain.limit-type=global                 | /k/plain   | 200, X-Address: 192.0.2.7 200, X-Address: 192.0.2.8 429 | -",
        "plain.limit-type=user-id                | /k/plain   | X-User: a 200, X-User: a 200, X-User: b 200, X-User: a 429 | -",
        "plain.header=X-Key                      | /k/plain   | X-Key: a 200, X-Key: a 200, X-Key: b 200, X-Key: a 429 | -",
        "plain.header=X-Key;plain.anonymous=reject | /k/plain | X-Key: a 200, 400                 | -",
        "plain.subject=tenants                   | /k/plain   | X-Tenant: a 200, X-Tenant: a 200, X-Tenant: b 200, X-Tenant: a 429 | -",
        "plain.cost=2                            | /k/plain   | 200, 429                          | -",
        "plain.status=503                        | /k/plain   | 200, 200, 503                     | -",
        "plain.code=slow                         | /k/plain   | 200, 200, 429                     | slow",
        "plain.message=Later                     | /k/plain   | 200, 200, 429                     | Later",
        "plain.ban.violations=1;plain.ban.within=60s;plain.ban.time=2h | /k/plain | 200, 200, 429, 429 | 7200",
        "plain.ban.violations=1;plain.ban.within=60s;plain.ban.time=2h;plain.ban.growth=2;plain.ban.longest=8h | /k/plain | 200, 200, 429, 429 | 7200",
        "failing.failed-on=404                   | /k/failing?status=404 | 404, 404, 429          | -",
        "failing.failed-on=409                   | /k/failing?status=404 | 404, 404, 404          | -",
        "guard.status=410                        | /k/guard   | 200, 409                          | -",
        "guard.duplicate.enabled=false           | /k/guard   | 200, 200                          | -",
        "guard.duplicate.status=410              | /k/guard   | 200, 410                          | -",
        "guard.duplicate.code=again              | /k/guard   | 200, 409                          | again",
        "guard.duplicate.message=Once            | /k/guard   | 200, 409                          | Once",
        "guard.duplicate.count=2                 | /k/guard   | 200, 200, 409                     | -",
        "guard.duplicate.time=2h                 | /k/guard   | 200, 409                          | -",
        "guard.duplicate.release-on=404          | /k/guard?status=404 | 404, 404                 | -",
        "guard.duplicate.release-on-failure=true | /k/guard?status=503 | 503, 503                 | -",
        "guard.duplicate.release-on-failure=false | /k/guard?status=503 | 503, 409                | -",
        "plain.rules.r.count=1                   | /k/plain   | 200, 429                          | -",
        "plain.rules.r.time=2h                   | /k/plain   | 200                               | w=7200",
        "plain.rules.r.name=renamed              | /k/plain   | 200                               | renamed",
        "plain.rules.r.algorithm=sliding-window-counter | /k/plain | 200, 200, 429                | -",
        "plain.rules.r.algorithm=concurrency-limit | /k/plain | 200, 200, 200                     | -",
        "plain.rules.r.counts=failures           | /k/plain   | 200, 200, 200, 200                | -",
        "plain.rules.r.limit-type=global         | /k/plain   | 200, X-Address: 192.0.2.7 200, X-Address: 192.0.2.8 429 | -",
        "plain.rules.r.header=X-Key              | /k/plain   | X-Key: a 200, X-Key: a 200, X-Key: b 200, X-Key: a 429 | -",
        "plain.rules.r.subject=tenants           | /k/plain   | X-Tenant: a 200, X-Tenant: a 200, X-Tenant: b 200, X-Tenant: a 429 | -",
        "plain.rules.r.fixed-window.aligned=true;plain.rules.r.time=1h | /k/plain | 200, 200, 429  | -",
        "plain.rules.r.fixed-window.aligned=true;plain.rules.r.fixed-window.zone=Asia/Tokyo;plain.rules.r.time=24h | /k/plain | 200, 200, 429 | -",
        "plain.rules.r.fixed-window.calendar=month | /k/plain | 200, 200, 429                      | w=2678400",
        "plain.rules.r.fixed-window.calendar=week;plain.rules.r.fixed-window.zone=Asia/Tokyo | /k/plain | 200, 200, 429 | w=604800",
        "plain.rules.r.token-bucket.refill=1;plain.rules.r.token-bucket.initial=1;plain.rules.r.time=1h | /k/plain | 200, 429 | -",
        "plain.rules.r.token-bucket.refill=1;plain.rules.r.token-bucket.greedy=false;plain.rules.r.time=1h | /k/plain | 200, 200, 429 | -",
        "plain.rules.r.leaky-bucket.queue=1;plain.rules.r.leaky-bucket.max-wait=2s;plain.rules.r.leaky-bucket.fair=false;plain.rules.r.time=1s | /k/plain | 200, 200 | -",
        "plain.rules[0].count=1;plain.rules[0].time=60s | /k/plain | 200, 429                      | 1-per-60s",
      })
  void theSettingDecides(String settings, String path, String calls, String last) {
    Map<String, Object> all = new HashMap<>(Map.of("test.stated-callers", true));
    for (String setting : settings.split(";")) {
      all.put("limiter.policies." + setting.split("=")[0].strip(), setting.split("=")[1].strip());
    }
    try (TestServer server = TestServer.start(SPEC, all)) {
      java.net.http.HttpResponse<String> response = null;
      List<Integer> expected = new ArrayList<>();
      List<Integer> statuses = new ArrayList<>();
      for (String call : calls.split(",")) {
        String[] words = call.strip().split("[: ]+");
        expected.add(Integer.valueOf(words[words.length - 1]));
        response = words.length == 1 ? server.get(path) : server.get(path, words[0], words[1]);
        statuses.add(response.statusCode());
      }
      assertThat(statuses).isEqualTo(expected);
      if (last != null && response != null) {
        assertThat(response.headers().map() + response.body()).contains(last);
      }
    }
  }
}
