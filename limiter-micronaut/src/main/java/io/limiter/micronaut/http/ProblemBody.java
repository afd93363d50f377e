// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.core.Outcome;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpMethod;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.MediaType;
import io.micronaut.http.MutableHttpResponse;
import jakarta.inject.Singleton;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * {@code application/problem+json} as in RFC 9457, of the type that
 * draft-ietf-httpapi-ratelimit-headers defines for an exceeded quota. A duplicate has no type of
 * its own there, so it is about:blank with the title of its status, as that RFC wants it.
 */
@Singleton
@Requires(missingBeans = DenialBody.class)
@Requires(property = "limiter.denial.body", pattern = "(?i)problem")
final class ProblemBody implements DenialBody {

  private static final String QUOTA_EXCEEDED =
      "https://iana.org/assignments/http-problem-types#quota-exceeded";
  private static final String BLANK = "about:blank";

  @Override
  public MutableHttpResponse<?> write(Denial denial, MutableHttpResponse<?> response) {
    if (denial.request().getMethod() == HttpMethod.HEAD) {
      return response;
    }
    boolean quota = denial.verdict().outcome() == Outcome.LIMITED;
    Map<String, Object> problem = new LinkedHashMap<>();
    problem.put("type", quota ? QUOTA_EXCEEDED : BLANK);
    problem.put("title", quota ? "Quota Exceeded" : title(denial.status()));
    problem.put("status", denial.status());
    problem.put("detail", denial.message());
    problem.put("instance", denial.request().getPath());
    problem.put("code", denial.code());
    if (quota) {
      List<String> violated =
          denial.verdict().violated().stream().map(rule -> rule.rule().name()).toList();
      problem.put("violated-policies", violated);
    }
    return response.body(problem).contentType(MediaType.APPLICATION_JSON_PROBLEM_TYPE);
  }

  /** The standard's words for a status. */
  static String title(int status) {
    return Arrays.stream(HttpStatus.values())
        .filter(known -> known.getCode() == status)
        .map(HttpStatus::getReason)
        .findFirst()
        .orElse("Refused");
  }
}
