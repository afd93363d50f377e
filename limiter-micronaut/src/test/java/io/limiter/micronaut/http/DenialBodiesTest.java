// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.exception.LimitDeniedException;
import io.limiter.micronaut.testing.HttpService;
import io.limiter.micronaut.testing.MicronautVersion;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.runtime.server.EmbeddedServer;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * The bytes of denials by each JSON mapper: that of Micronaut 4, which is Jackson 2, that of
 * Micronaut 5, which is Jackson 3, and micronaut-serde.
 */
class DenialBodiesTest {

  /**
   * Of some of {@link DirectDenialsTest#denials}, those with an odd number in Chinese. A mapper of
   * Micronaut 4 writes two escapes in place of an emoji.
   */
  private static final String BODIES =
      """
      format      | mapper    | no | body
      application | jackson 2 |  0 | {"message":"Too Many Requests","logref":"rate_limited","_links":{"self":{"href":"/a/%C3%A9/é/✋/😀?q=1&r='b'","templated":false}},"_embedded":{"errors":[{"message":"Too many requests, try again later"}]}}
      application | jackson 3 |  0 | {"message":"Too Many Requests","_embedded":{"errors":[{"message":"Too many requests, try again later"}]},"_links":{"self":{"href":"/a/%C3%A9/é/✋/😀?q=1&r='b'","templated":false}},"logref":"rate_limited"}
      application | serde     |  0 | {"_links":{"self":[{"href":"/a/%C3%A9/é/✋/😀?q=1&r='b'","templated":false}]},"_embedded":{"errors":[{"message":"Too many requests, try again later"}]},"message":"Too Many Requests","logref":"rate_limited"}
      application | jackson 2 |  3 | {"message":"Too Many Requests","logref":"rate_limited","_links":{"self":{"href":"/a/%C3%A9/é/✋/😀?q=1&r='b'","templated":false}},"_embedded":{"errors":[{"message":"请求的数量超过单次允许的上限"}]}}
      application | jackson 3 |  3 | {"message":"Too Many Requests","_embedded":{"errors":[{"message":"请求的数量超过单次允许的上限"}]},"_links":{"self":{"href":"/a/%C3%A9/é/✋/😀?q=1&r='b'","templated":false}},"logref":"rate_limited"}
      application | serde     |  3 | {"_links":{"self":[{"href":"/a/%C3%A9/é/✋/😀?q=1&r='b'","templated":false}]},"_embedded":{"errors":[{"message":"请求的数量超过单次允许的上限"}]},"message":"Too Many Requests","logref":"rate_limited"}
      application | jackson 2 |  5 | {"message":"Too Many Requests","logref":"banned","_links":{"self":{"href":"/a/%C3%A9/é/✋/😀?q=1&r='b'","templated":false}},"_embedded":{"errors":[{"message":"被拒绝的请求过多，已被暂时禁止访问"}]}}
      application | jackson 3 |  5 | {"message":"Too Many Requests","_embedded":{"errors":[{"message":"被拒绝的请求过多，已被暂时禁止访问"}]},"_links":{"self":{"href":"/a/%C3%A9/é/✋/😀?q=1&r='b'","templated":false}},"logref":"banned"}
      application | serde     |  5 | {"_links":{"self":[{"href":"/a/%C3%A9/é/✋/😀?q=1&r='b'","templated":false}]},"_embedded":{"errors":[{"message":"被拒绝的请求过多，已被暂时禁止访问"}]},"message":"Too Many Requests","logref":"banned"}
      application | jackson 2 |  7 | {"message":"Conflict","logref":"duplicate_submission","_links":{"self":{"href":"/a/%C3%A9/é/✋/😀?q=1&r='b'","templated":false}},"_embedded":{"errors":[{"message":"duplicate_submission policy  1 0 30 GET /a/%C3%A9/é/✋/😀   ünd {"}]}}
      application | jackson 3 |  7 | {"message":"Conflict","_embedded":{"errors":[{"message":"duplicate_submission policy  1 0 30 GET /a/%C3%A9/é/✋/😀   ünd {"}]},"_links":{"self":{"href":"/a/%C3%A9/é/✋/😀?q=1&r='b'","templated":false}},"logref":"duplicate_submission"}
      application | serde     |  7 | {"_links":{"self":[{"href":"/a/%C3%A9/é/✋/😀?q=1&r='b'","templated":false}]},"_embedded":{"errors":[{"message":"duplicate_submission policy  1 0 30 GET /a/%C3%A9/é/✋/😀   ünd {"}]},"message":"Conflict","logref":"duplicate_submission"}
      application | jackson 2 |  9 | {"message":"Denied","logref":"code \\"\\\\","_links":{"self":{"href":"/a/%C3%A9/é/✋/😀?q=1&r='b'","templated":false}},"_embedded":{"errors":[{"message":"quotes \\" \\\\ / \\b\\f\\n\\r\\t \\u0000\\u001F\u007F\u0080 é \u2028 汉 😀 <'&> \\uD83D"}]}}
      application | jackson 3 |  9 | {"message":"Denied","_embedded":{"errors":[{"message":"quotes \\" \\\\ / \\b\\f\\n\\r\\t \\u0000\\u001F\u007F\u0080 é \u2028 汉 😀 <'&> \\uD83D"}]},"_links":{"self":{"href":"/a/%C3%A9/é/✋/😀?q=1&r='b'","templated":false}},"logref":"code \\"\\\\"}
      application | serde     |  9 | {"_links":{"self":[{"href":"/a/%C3%A9/é/✋/😀?q=1&r='b'","templated":false}]},"_embedded":{"errors":[{"message":"quotes \\" \\\\ / \\b\\f\\n\\r\\t \\u0000\\u001F\u007F\u0080 é \u2028 汉 😀 <'&> \\uD83D"}]},"message":"Denied","logref":"code \\"\\\\"}
      application | jackson 2 | 11 | {"message":"Service Unavailable","logref":"limiter_unavailable","_links":{"self":{"href":"/a/%C3%A9/é/✋/😀?q=1&r='b'","templated":false}},"_embedded":{"errors":[{"message":"服务繁忙，请稍后再试"}]}}
      application | jackson 3 | 11 | {"message":"Service Unavailable","_embedded":{"errors":[{"message":"服务繁忙，请稍后再试"}]},"_links":{"self":{"href":"/a/%C3%A9/é/✋/😀?q=1&r='b'","templated":false}},"logref":"limiter_unavailable"}
      application | serde     | 11 | {"_links":{"self":[{"href":"/a/%C3%A9/é/✋/😀?q=1&r='b'","templated":false}]},"_embedded":{"errors":[{"message":"服务繁忙，请稍后再试"}]},"message":"Service Unavailable","logref":"limiter_unavailable"}
      problem     | any       |  0 | {"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded","status":429,"detail":"Too many requests, try again later","instance":"/a/%C3%A9/é/✋/😀","code":"rate_limited","violated-policies":["10-per-60s"]}
      problem     | any       |  3 | {"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded","status":429,"detail":"请求的数量超过单次允许的上限","instance":"/a/%C3%A9/é/✋/😀","code":"rate_limited","violated-policies":["10-per-60s"]}
      problem     | any       |  5 | {"type":"https://iana.org/assignments/http-problem-types#abnormal-usage-detected","title":"Abnormal Usage Detected","status":429,"detail":"被拒绝的请求过多，已被暂时禁止访问","instance":"/a/%C3%A9/é/✋/😀","code":"banned","violated-policies":[]}
      problem     | any       |  7 | {"type":"about:blank","title":"Conflict","status":409,"detail":"duplicate_submission policy  1 0 30 GET /a/%C3%A9/é/✋/😀   ünd {","instance":"/a/%C3%A9/é/✋/😀","code":"duplicate_submission"}
      problem     | any       |  9 | {"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded","status":498,"detail":"quotes \\" \\\\ / \\b\\f\\n\\r\\t \\u0000\\u001F\u007F\u0080 é \u2028 汉 😀 <'&> \\uD83D","instance":"/a/%C3%A9/é/✋/😀","code":"code \\"\\\\","violated-policies":["10-per-60s"]}
      problem     | any       | 11 | {"type":"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity","title":"Temporary Reduced Capacity","status":503,"detail":"服务繁忙，请稍后再试","instance":"/a/%C3%A9/é/✋/😀","code":"limiter_unavailable","violated-policies":[]}
      template    | any       |  0 | {"error":{"code":"rate_limited","text":"😀 Too many requests, try again later [/a/%C3%A9/é/✋/😀]"},"seconds":60,"rules":["10-per-60s"]}
      template    | any       |  3 | {"error":{"code":"rate_limited","text":"😀 请求的数量超过单次允许的上限 [/a/%C3%A9/é/✋/😀]"},"seconds":null,"rules":["10-per-60s"]}
      template    | any       |  5 | {"error":{"code":"banned","text":"😀 被拒绝的请求过多，已被暂时禁止访问 [/a/%C3%A9/é/✋/😀]"},"seconds":60,"rules":[]}
      template    | any       |  7 | {"error":{"code":"duplicate_submission","text":"😀 duplicate_submission policy  1 0 30 GET /a/%C3%A9/é/✋/😀   ünd { [/a/%C3%A9/é/✋/😀]"},"seconds":null,"rules":[]}
      template    | any       |  9 | {"error":{"code":"code \\"\\\\","text":"😀 quotes \\" \\\\ / \\b\\f\\n\\r\\t \\u0000\\u001F\u007F\u0080 é \u2028 汉 😀 <'&> \\uD83D [/a/%C3%A9/é/✋/😀]"},"seconds":60,"rules":["10-per-60s"]}
      template    | any       | 11 | {"error":{"code":"limiter_unavailable","text":"😀 服务繁忙，请稍后再试 [/a/%C3%A9/é/✋/😀]"},"seconds":60,"rules":[]}
      """;

  @Test
  void areThoseOfJackson() {
    assertBodies(MicronautVersion.either("jackson 2", "jackson 3"));
  }

  static void assertBodies(String mapper) {
    for (String format : new String[] {"application", "problem", "template"}) {
      try (EmbeddedServer server = DirectDenialsTest.start(format, fields(format))) {
        rows(format, mapper)
            .forEach(row -> assertBody(server, Integer.parseInt(row[2].strip()), row[3]));
      }
    }
  }

  private static Stream<String[]> rows(String format, String mapper) {
    return BODIES
        .lines()
        .skip(1)
        .map(row -> row.split(" *[|] ", 4))
        .filter(row -> row[0].equals(format) && (row[1].equals(mapper) || row[1].equals("any")));
  }

  private static Map<String, Object> fields(String format) {
    return format.equals("template")
        ? HttpService.settings(
            "test.fields", false,
            "limiter.denial.template.error.code", "{code}",
            "limiter.denial.template.error.text", "😀 {message} [{path}]",
            "limiter.denial.template.seconds", "{retryAfter}",
            "limiter.denial.template.rules", "{violated}")
        : Map.of();
  }

  private static void assertBody(EmbeddedServer server, int number, String body) {
    String expected = MicronautVersion.either(body.replace("😀", "\\uD83D\\uDE00"), body);
    LimitDeniedException denied = DirectDenialsTest.denials(60).get(number);
    HttpRequest<?> request =
        DirectDenialsTest.get("/a/%C3%A9/é/✋/😀?q=1&r='b'", number % 2 == 0 ? "" : "zh-CN");
    MutableHttpResponse<?> response = DirectDenialsTest.respond(server, request, denied);
    assertThat(response.body()).isInstanceOf(byte[].class);
    assertThat(new String(DirectDenialsTest.encoded(server, request, response), UTF_8))
        .isEqualTo(expected);
  }
}
