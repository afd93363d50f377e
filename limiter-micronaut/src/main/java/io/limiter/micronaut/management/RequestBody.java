// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.management;

import io.limiter.core.LimitRequest;
import io.limiter.core.util.LogThrottle;
import io.limiter.core.util.NearestNames;
import io.limiter.micronaut.exception.InvalidCallException;
import io.limiter.micronaut.plan.LimitedPolicy;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.exceptions.HttpStatusException;
import io.micronaut.json.JsonMapper;
import io.micronaut.json.tree.JsonNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.StringJoiner;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The members of a JSON object that a client has sent, and the subjects that they name. Each
 * mistake is a 400 that names it.
 */
final class RequestBody {

  /** The most characters of a value: more than a header field has. */
  static final int MAX_VALUE = 8_192;

  /** The most characters of what a message quotes. */
  private static final int MAX_QUOTED = 100;

  private static final String METHOD = "method";
  private static final String TIER = "tier";
  private static final String SUBMISSION = "submission";

  /** They say more of the subjects that the other members name. */
  private static final List<String> DETAILS = List.of(METHOD, TIER, SUBMISSION);

  private static final List<String> SUBJECTS =
      List.of(
          "subject",
          "address",
          "user",
          "header",
          "argument",
          "resolver",
          "anonymous",
          "everyone",
          "digest");

  private static final String SUBJECT_EXAMPLE = "{\"user\": \"ada\"}";

  /**
   * The subjects that a body names, as a request to the store.
   *
   * @param request of one call of these subjects
   * @param clear the subjects in clear
   * @param tier whose rules the request has; empty if the policy is the same in all tiers
   */
  record NamedSubject(LimitRequest request, String clear, Optional<String> tier) {}

  private final Map<String, JsonNode> members;

  private RequestBody(Map<String, JsonNode> members) {
    this.members = members;
  }

  /**
   * Reads a body.
   *
   * @param known the members that it may have
   * @param example a body that would be right, for messages
   */
  static RequestBody read(
      JsonMapper mapper, @Nullable String text, List<String> known, String example) {
    JsonNode body;
    try {
      body =
          text == null || text.isBlank()
              ? JsonNode.nullNode()
              : mapper.readValue(text, JsonNode.class);
    } catch (IOException | RuntimeException unreadable) {
      body = null;
    }
    if (body == null || !body.isObject()) {
      throw mistake("The body is no JSON object: send one such as " + example);
    }
    Map<String, JsonNode> members = new LinkedHashMap<>();
    for (Map.Entry<String, JsonNode> member : body.entries()) {
      if (!known.contains(member.getKey())) {
        List<String> nearest = NearestNames.of(known, member.getKey());
        throw mistake(
            "There is no member '%s': %s, such as %s"
                .formatted(
                    quoted(member.getKey()),
                    nearest.isEmpty()
                        ? "use one of " + String.join(", ", known)
                        : "did you mean " + nearest.get(0) + "?",
                    example));
      }
      members.put(member.getKey(), member.getValue());
    }
    return new RequestBody(members);
  }

  /**
   * Reads a body that names subjects.
   *
   * @param others the other members that it may have
   */
  static RequestBody ofSubject(JsonMapper mapper, @Nullable String text, List<String> others) {
    List<String> known = new ArrayList<>(SUBJECTS);
    known.addAll(DETAILS);
    known.addAll(others);
    return read(mapper, text, known, SUBJECT_EXAMPLE);
  }

  static HttpStatusException mistake(@Nullable String what) {
    return new HttpStatusException(HttpStatus.BAD_REQUEST, String.valueOf(what));
  }

  static String quoted(String text) {
    return LogThrottle.oneLine(text, MAX_QUOTED);
  }

  boolean has(String member) {
    return members.containsKey(member);
  }

  /** A text that is not blank. */
  String text(String member) {
    return text("member '" + member + "'", node(member));
  }

  /** A text that is not blank, or a number. */
  Object textOrNumber(String member) {
    JsonNode node = node(member);
    return node.isNumber() ? node.getNumberValue() : text(member);
  }

  /** An object with one member, whose value is a text that is not blank. */
  Map.Entry<String, String> named(String member, String example) {
    JsonNode node = node(member);
    if (!node.isObject() || node.size() != 1) {
      throw mistake(
          "The member '%s' is %s: give it an object with one name and value, such as %s"
              .formatted(
                  member, node.isObject() ? "an object of " + node.size() : type(node), example));
    }
    Map.Entry<String, JsonNode> only = node.entries().iterator().next();
    String value =
        text("member '%s' of '%s'".formatted(quoted(only.getKey()), member), only.getValue());
    return Map.entry(only.getKey(), value);
  }

  /** An object of whole numbers, at least one. */
  Map<String, Long> numbers(String member, String example) {
    JsonNode node = node(member);
    if (!node.isObject() || node.size() == 0) {
      throw mistake(
          "The member '%s' is %s: give it an object of numbers, such as %s"
              .formatted(member, node.isObject() ? "empty" : type(node), example));
    }
    Map<String, Long> numbers = new LinkedHashMap<>();
    for (Map.Entry<String, JsonNode> number : node.entries()) {
      JsonNode value = number.getValue();
      if (!value.isNumber() || value.getDoubleValue() != value.getLongValue()) {
        throw mistake(
            "The member '%s' of '%s' is %s: give it a whole number"
                .formatted(
                    quoted(number.getKey()),
                    member,
                    value.isNumber() ? value.getNumberValue() : type(value)));
      }
      numbers.put(number.getKey(), value.getLongValue());
    }
    return numbers;
  }

  boolean flag(String member) {
    JsonNode node = node(member);
    if (!node.isBoolean()) {
      throw mistake("The member '%s' is %s: give it true or false".formatted(member, type(node)));
    }
    return node.getBooleanValue();
  }

  /** A member that may only be true. */
  void requireTrue(String member) {
    if (!flag(member)) {
      throw mistake("The member '%s' is false: give it true, or leave it out".formatted(member));
    }
  }

  /**
   * The subjects that this body names, by the rules of the tier that it names, else of the tier
   * that is remembered of one of them, else of the default tier.
   *
   * @param statistics finds digests
   * @param tiers the names of all tiers
   * @param remembered finds the tier of a caller
   */
  NamedSubject subject(
      LimitedPolicy policy,
      PolicyStatistics statistics,
      Set<String> tiers,
      Function<String, Optional<String>> remembered) {
    Optional<String> tier = has(TIER) ? Optional.of(tier(tiers)) : remembered(remembered);
    LimitedPolicy own = tier.map(policy::inTier).orElse(policy);
    try {
      LimitedPolicy asked = has(METHOD) ? own.method(text(METHOD)) : own;
      return read(
          has(SUBMISSION) ? asked.withSubmission(textOrNumber(SUBMISSION)) : asked, statistics);
    } catch (IllegalArgumentException | InvalidCallException mistake) { // of what it counts
      throw mistake(mistake.getMessage());
    }
  }

  private String tier(Set<String> tiers) {
    String tier = text(TIER);
    if (!tiers.contains(tier)) {
      throw mistake(
          "There is no tier '%s': use one of %s"
              .formatted(quoted(tier), tiers.isEmpty() ? "none" : String.join(", ", tiers)));
    }
    return tier;
  }

  /** Of callers that the body names in clear. */
  private Optional<String> remembered(Function<String, Optional<String>> tiers) {
    return Stream.of("user", "subject", "header", "argument", "resolver")
        .flatMap(member -> Stream.ofNullable(members.get(member)))
        .flatMap(
            node ->
                node.isObject() && node.size() > 0
                    ? Stream.of(node.entries().iterator().next().getValue())
                    : Stream.of(node))
        .filter(JsonNode::isString)
        .flatMap(node -> tiers.apply(node.getStringValue()).stream())
        .findFirst();
  }

  private NamedSubject read(LimitedPolicy policy, PolicyStatistics statistics) {
    StringJoiner clear = new StringJoiner(", ");
    LimitRequest request =
        SUBJECTS.stream()
            .filter(this::has)
            .map(member -> request(member, policy, statistics, clear))
            .reduce(LimitRequest::and)
            .orElseThrow(
                () ->
                    mistake(
                        "The body names no subject: give it one of %s, such as %s"
                            .formatted(String.join(", ", SUBJECTS), SUBJECT_EXAMPLE)));
    if (has(SUBMISSION) && request.duplicate().isEmpty()) {
      throw mistake(
          "The body names a submission, and none of its subjects submits: name the subject whose submissions the policy '%s' compares"
              .formatted(policy.name()));
    }
    return new NamedSubject(
        request, clear.toString(), policy.tiers().isEmpty() ? Optional.empty() : policy.tier());
  }

  private LimitRequest request(
      String member, LimitedPolicy policy, PolicyStatistics statistics, StringJoiner clear) {
    switch (member) {
      case "subject" -> {
        Object value = textOrNumber(member);
        clear.add(value.toString());
        return policy.forSubject(value);
      }
      case "everyone" -> {
        requireTrue(member);
        clear.add(member);
        return policy.forEveryone();
      }
      case "header" -> {
        Map.Entry<String, String> named = named(member, "{\"X-Api-Key\": \"k1\"}");
        clear.add(named.getKey() + ' ' + named.getValue());
        return policy.forHeader(named.getKey(), named.getValue());
      }
      case "argument" -> {
        Map.Entry<String, String> named = named(member, "{\"#{phone}\": \"0100\"}");
        clear.add(named.getKey() + ' ' + named.getValue());
        return policy.forArgument(named.getKey(), named.getValue());
      }
      case "resolver" -> {
        Map.Entry<String, String> named = named(member, "{\"com.example.Tenant\": \"t\"}");
        clear.add(named.getKey() + ' ' + named.getValue());
        return policy.forResolved(named.getKey(), named.getValue());
      }
      case "digest" -> {
        return ofDigest(text(member), policy, statistics);
      }
      default -> {
        String value = text(member);
        clear.add(member + ' ' + value);
        return member.equals("address")
            ? policy.forAddress(value)
            : member.equals("user") ? policy.forUser(value) : policy.forAnonymous(value);
      }
    }
  }

  private static LimitRequest ofDigest(
      String digest, LimitedPolicy policy, PolicyStatistics statistics) {
    PolicyStatistics.Talker talker =
        statistics
            .find(policy.name(), digest)
            .orElseThrow(
                () ->
                    mistake(
                        "The digest '%s' is not among the top talkers of the policy '%s' on this instance: take it from there, or name the subject"
                            .formatted(quoted(digest), policy.name())));
    return policy.forKey(talker.key(), talker.limit(), talker.source(), talker.anonymous());
  }

  private JsonNode node(String member) {
    JsonNode node = members.get(member);
    if (node == null) {
      throw mistake("The member '%s' is missing".formatted(member));
    }
    return node;
  }

  private static String text(String where, JsonNode node) {
    if (!node.isString()) {
      throw mistake("The %s is %s: give it a text".formatted(where, type(node)));
    }
    String text = node.getStringValue();
    if (text.isBlank()) {
      throw mistake("The %s is blank: give it a value".formatted(where));
    }
    if (text.length() > MAX_VALUE) {
      throw mistake(
          "The %s has %s characters: give it %s at most"
              .formatted(where, text.length(), MAX_VALUE));
    }
    return text;
  }

  private static String type(JsonNode node) {
    if (node.isObject()) {
      return "an object";
    }
    if (node.isArray()) {
      return "a list";
    }
    if (node.isNull()) {
      return "null";
    }
    return node.isString() ? "a text" : node.isBoolean() ? "true or false" : "a number";
  }
}
