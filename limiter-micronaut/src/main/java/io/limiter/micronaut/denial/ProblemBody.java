// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.micronaut.core.annotation.Internal;
import io.micronaut.http.MediaType;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.json.tree.JsonNode;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * {@code application/problem+json} as in RFC 9457, with the types of
 * draft-ietf-httpapi-ratelimit-headers. The draft has none for duplicates, which are therefore
 * about:blank with the title of the status, as the RFC requires.
 *
 * <p>Titles are always English, since the registry of the types defines them. The detail is in the
 * language of the request.
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
      // All types have the member. While the store is away no policy is known to be violated, and a
      // banned subject may no longer violate any.
      case LIMITED, BANNED, UNAVAILABLE ->
          problem.put(
              "violated-policies",
              JsonNode.createArrayNode(
                  denial.violated().stream().map(JsonNode::createStringNode).toList()));
      case DUPLICATE, ALLOWED -> {}
    }
    // A tree keeps what the application's mapper leaves out, such as empty lists.
    return response
        .body(JsonNode.createObjectNode(problem))
        .contentType(MediaType.APPLICATION_JSON_PROBLEM_TYPE);
  }

  private static void type(Map<String, JsonNode> problem, String type, String title) {
    problem.put("type", JsonNode.createStringNode(type));
    problem.put("title", JsonNode.createStringNode(title));
  }
}
