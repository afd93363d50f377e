// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import static io.limiter.micronaut.testing.Json.json;
import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A request as a page writes it, and the answer that it promises: request line, fields, an empty
 * line, perhaps a body and an empty line, then the answer in the same form. A line such as {@code #
 * the 3rd call} before it means that it was made twice already. Several in one block are apart by
 * {@code ###}. An ellipsis in an answer's body stands for anything.
 *
 * @param calls how often it is made; the answer is that of the last
 * @param answerFields those that the page shows; there may be others
 */
record Exchange(
    int calls,
    String method,
    String path,
    Map<String, String> fields,
    String body,
    int status,
    Map<String, String> answerFields,
    String answer) {

  private static final Pattern CALLS = Pattern.compile("# the (\\d+)(?:st|nd|rd|th) call.*");
  private static final Pattern REQUEST = Pattern.compile("([A-Z]+) (/\\S*) HTTP/1\\.1");
  private static final Pattern ANSWER = Pattern.compile("HTTP/1\\.1 (\\d{3}) .+");

  static List<Exchange> of(Snippet snippet) {
    return Arrays.stream(snippet.text().split("(?m)^###.*\n"))
        .map(text -> parse(snippet.where(), text))
        .toList();
  }

  /** Requires the answer that the page promises. */
  void check(HttpResponse<String> answered) {
    String call = method + " " + path;
    assertThat(answered.statusCode()).as("%s: %s", call, answered.body()).isEqualTo(status);
    Map<String, String> found = new HashMap<>();
    answerFields
        .keySet()
        .forEach(
            name -> answered.headers().firstValue(name).ifPresent(value -> found.put(name, value)));
    assertThat(found).as(call).isEqualTo(answerFields);
    assertThat(answers(answered.body()))
        .as("%s is answered\n%s\nwhere the page has\n%s", call, answered.body(), answer)
        .isTrue();
  }

  private static Exchange parse(String where, String text) {
    List<String> lines = new ArrayList<>(text.strip().lines().toList());
    int calls = 1;
    Matcher again = CALLS.matcher(lines.get(0));
    if (again.matches()) {
      calls = Integer.parseInt(again.group(1));
      lines.remove(0);
    }
    Matcher request = matched(where, REQUEST, lines.get(0));
    int answer = 1;
    while (answer < lines.size() && !lines.get(answer).startsWith("HTTP/1.1 ")) {
      answer++;
    }
    if (answer == lines.size()) {
      throw new IllegalStateException(where + ": the request has no answer");
    }
    Matcher status = matched(where, ANSWER, lines.get(answer));
    List<String> asked = lines.subList(1, answer);
    List<String> answered = lines.subList(answer + 1, lines.size());
    return new Exchange(
        calls,
        request.group(1),
        request.group(2),
        fields(where, asked),
        body(asked),
        Integer.parseInt(status.group(1)),
        fields(where, answered),
        body(answered));
  }

  private static Matcher matched(String where, Pattern pattern, String line) {
    Matcher matcher = pattern.matcher(line);
    if (!matcher.matches()) {
      throw new IllegalStateException(where + ": '" + line + "' is not " + pattern);
    }
    return matcher;
  }

  private static Map<String, String> fields(String where, List<String> lines) {
    Map<String, String> fields = new LinkedHashMap<>();
    for (String line : lines) {
      if (line.isEmpty()) {
        break;
      }
      int colon = line.indexOf(": ");
      if (colon < 1) {
        throw new IllegalStateException(where + ": '" + line + "' is no header field");
      }
      fields.put(line.substring(0, colon), line.substring(colon + 2));
    }
    return fields;
  }

  private static String body(List<String> lines) {
    int empty = lines.indexOf("");
    return empty < 0 ? "" : String.join("\n", lines.subList(empty + 1, lines.size())).strip();
  }

  /** Whether this is the body that the page shows; the members of JSON in any order. */
  boolean answers(String actual) {
    if (answer.startsWith("{") && !answer.contains("…")) {
      return json(actual).equals(json(answer));
    }
    String pattern =
        Arrays.stream(answer.split("…", -1))
            .map(Pattern::quote)
            .reduce((one, other) -> one + "[\\s\\S]*?" + other)
            .orElseThrow();
    return actual.strip().matches(pattern);
  }
}
