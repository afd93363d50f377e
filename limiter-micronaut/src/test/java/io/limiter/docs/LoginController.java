// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import java.util.Map;

@Controller
class LoginController {

  @Post("/login")
  @RateLimiter(
      resolver = UserAtAddress.class,
      failedOn = 401,
      rules = @RateRule(count = 5, time = 900, counts = Counts.FAILURES))
  @RateLimiter(failedOn = 401, rules = @RateRule(count = 50, time = 3600, counts = Counts.FAILURES))
  @RateLimiter(
      subject = "#{user}",
      failedOn = 401,
      rules = @RateRule(count = 500, time = 86_400, counts = Counts.FAILURES))
  HttpResponse<String> login(@QueryValue String user, @QueryValue String password) {
    return password.equals("right")
        ? HttpResponse.ok("welcome " + user)
        : HttpResponse.<String>unauthorized().body("wrong");
  }

  @Post("/login/json")
  @RateLimiter(
      subject =
          "#{ctx[io.limiter.micronaut.subject.ClientAddress].of(request) + ' ' + body.get('user')}",
      failedOn = 401,
      rules = @RateRule(count = 5, time = 900, counts = Counts.FAILURES))
  HttpResponse<String> login(@Body Map<String, String> body, HttpRequest<?> request) {
    return login(body.get("user"), body.get("password"));
  }
}
