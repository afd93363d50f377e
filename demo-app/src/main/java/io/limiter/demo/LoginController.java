// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import io.limiter.core.Verdict;
import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import java.util.Map;

/**
 * Three wrong passwords a minute for each user; right ones are not counted. After that no password
 * is checked: the client must solve a captcha.
 */
@Controller("/login")
class LoginController {

  @SuppressWarnings("limiter") // does not stop a client that guesses for many users
  @Post
  @RateLimiter(
      subject = "#{user}",
      failedOn = 401,
      rules = @RateRule(count = 3, time = 60, counts = Counts.FAILURES))
  HttpResponse<Map<String, Object>> logIn(
      @QueryValue String user, @QueryValue String password, Verdict verdict) {
    if (!verdict.allowed()) {
      return HttpResponse.ok(Map.of("captcha", true));
    }
    return password.equals(user)
        ? HttpResponse.ok(Map.of("name", user))
        : HttpResponse.<Map<String, Object>>unauthorized().body(Map.of("name", "unknown"));
  }
}
