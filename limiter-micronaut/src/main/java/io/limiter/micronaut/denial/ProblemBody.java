// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.micronaut.core.annotation.Internal;
import io.micronaut.http.MediaType;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.json.tree.JsonNode;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * {@code application/problem+json} as in RFC 9457, of the types that
 * draft-ietf-httpapi-ratelimit-headers defines. A duplicate has none there, so it is about:blank
 * with the title of its status, as that RFC wants it.
 *
 * <p>Titles are English in every language: they belong to the type, and its registry words them.
 * What is told in the language of the request is the detail.
 */
@Internal
public final class ProblemBody implements DenialBody {

  private static final String TYPES = "https://iana.org/assignments/http-problem-types#";

  @Override
  public MutableHttpResponse<?> write(Denial denial, MutableHttpResponse<?> response) {
    Map<String, JsonNode> problem = new LinkedHashMap<>();
    switch (denial.verdict().outcome()) {
      case LIMITED -> type(problem, TYPES + "quota-exceeded", "Quota Exceeded");
      case BANNED -> type(problem, TYPES + "abnormal-usage-detected", "Abnormal Usage Detected");
      case UNAVAILABLE ->
          type(problem, TYPES + "temporary-reduced-capacity", "Temporary Reduced Capacity");
      case DUPLICATE, ALLOWED -> type(problem, "about:blank", denial.title());
    }
    problem.put("status", JsonNode.createNumberNode(denial.status()));
    problem.put("detail", JsonNode.createStringNode(denial.message()));
    problem.put("instance", JsonNode.createStringNode(denial.request().getPath()));
    problem.put("code", JsonNode.createStringNode(denial.code()));
    switch (denial.verdict().outcome()) {
      // All types have the member; while the store is away no policy is known to be violated, and
      // who is banned may violate none any more.
      case LIMITED, BANNED, UNAVAILABLE ->
          problem.put(
              "violated-policies",
              JsonNode.createArrayNode(
                  denial.violated().stream().map(JsonNode::createStringNode).toList()));
      case DUPLICATE, ALLOWED -> {}
    }
    // As a tree: what the application's mapper leaves out, such as empty lists, is part of it.
    return response
        .body(JsonNode.createObjectNode(problem))
        .contentType(MediaType.APPLICATION_JSON_PROBLEM_TYPE);
  }

  private static void type(Map<String, JsonNode> problem, String type, String title) {
    problem.put("type", JsonNode.createStringNode(type));
    problem.put("title", JsonNode.createStringNode(title));
  }
}
