// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.management;

import io.limiter.core.LimitRequest;
import io.limiter.micronaut.plan.LimitedPolicy;
import io.micronaut.json.JsonMapper;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import org.jspecify.annotations.Nullable;

/**
 * The subjects that a body names, as a request to the store.
 *
 * @param request of one call of these subjects
 * @param clear the subjects in clear
 */
record NamedSubject(LimitRequest request, String clear) {

  private static final String METHOD = "method";

  private static final List<String> MEMBERS =
      List.of(
          "subject",
          "address",
          "user",
          "header",
          "argument",
          "resolver",
          "anonymous",
          "everyone",
          "digest",
          METHOD);

  private static final String EXAMPLE = "{\"user\": \"ada\"}";

  /**
   * Reads the subjects from a body.
   *
   * @param talkers finds digests
   */
  static NamedSubject read(
      JsonMapper mapper, @Nullable String text, LimitedPolicy policy, TopTalkers talkers) {
    return of(body(mapper, text, List.of()), policy, talkers);
  }

  /** Reads a body that names subjects, and has other members too. */
  static RequestBody body(JsonMapper mapper, @Nullable String text, List<String> others) {
    List<String> known = new ArrayList<>(MEMBERS);
    known.addAll(others);
    return RequestBody.read(mapper, text, known, EXAMPLE);
  }

  /**
   * Finds the subjects that a body names.
   *
   * @param talkers finds digests
   */
  static NamedSubject of(RequestBody body, LimitedPolicy policy, TopTalkers talkers) {
    try {
      LimitedPolicy part = body.has(METHOD) ? policy.method(body.text(METHOD)) : policy;
      return read(body, part, talkers);
    } catch (IllegalArgumentException mistake) { // of what the policy counts
      throw RequestBody.mistake(mistake.getMessage());
    }
  }

  private static NamedSubject read(RequestBody body, LimitedPolicy policy, TopTalkers talkers) {
    List<LimitRequest> requests = new ArrayList<>();
    StringJoiner clear = new StringJoiner(", ");
    for (String member : MEMBERS) {
      if (!member.equals(METHOD) && body.has(member)) {
        requests.add(request(body, member, policy, talkers, clear));
      }
    }
    return new NamedSubject(
        requests.stream()
            .reduce(LimitRequest::and)
            .orElseThrow(
                () ->
                    RequestBody.mistake(
                        "The body names no subject: give it one of %s, such as %s"
                            .formatted(
                                String.join(", ", MEMBERS.subList(0, MEMBERS.size() - 1)),
                                EXAMPLE))),
        clear.toString());
  }

  private static LimitRequest request(
      RequestBody body,
      String member,
      LimitedPolicy policy,
      TopTalkers talkers,
      StringJoiner clear) {
    switch (member) {
      case "subject" -> {
        Object value = body.textOrNumber(member);
        clear.add(value.toString());
        return policy.forSubject(value);
      }
      case "everyone" -> {
        body.requireTrue(member);
        clear.add(member);
        return policy.forEveryone();
      }
      case "header" -> {
        Map.Entry<String, String> named = body.named(member, "{\"X-Api-Key\": \"k1\"}");
        clear.add(named.getKey() + ' ' + named.getValue());
        return policy.forHeader(named.getKey(), named.getValue());
      }
      case "argument" -> {
        Map.Entry<String, String> named = body.named(member, "{\"#{phone}\": \"0100\"}");
        clear.add(named.getKey() + ' ' + named.getValue());
        return policy.forArgument(named.getKey(), named.getValue());
      }
      case "resolver" -> {
        Map.Entry<String, String> named = body.named(member, "{\"com.example.Tenant\": \"t\"}");
        clear.add(named.getKey() + ' ' + named.getValue());
        return policy.forResolved(named.getKey(), named.getValue());
      }
      case "digest" -> {
        return ofDigest(body.text(member), policy, talkers);
      }
      default -> {
        String value = body.text(member);
        clear.add(member + ' ' + value);
        return member.equals("address")
            ? policy.forAddress(value)
            : member.equals("user") ? policy.forUser(value) : policy.forAnonymous(value);
      }
    }
  }

  private static LimitRequest ofDigest(String digest, LimitedPolicy policy, TopTalkers talkers) {
    TopTalkers.Talker talker =
        talkers
            .find(policy.name(), digest)
            .orElseThrow(
                () ->
                    RequestBody.mistake(
                        "The digest '%s' is not among the top talkers of the policy '%s' on this instance: take it from there, or name the subject"
                            .formatted(RequestBody.quoted(digest), policy.name())));
    return policy.forKey(talker.key(), talker.limit(), talker.source(), talker.anonymous());
  }
}
