// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import io.micronaut.http.cookie.ServerCookieDecoder;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What makes submissions equal where an annotation does not say: see DuplicateBy.AUTO. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class DuplicateDefaultTest {

  private static final String BOUNDARY = "limit";

  private static final List<String> LANGUAGES = List.of("en", "de", "fr");

  private int requests;
  @AutoClose private TestServer with;
  @AutoClose private TestServer without;

  @BeforeAll
  void start() {
    assertThat(ServerCookieDecoder.INSTANCE).isNotNull(); // Micronaut loads it on an event loop
    with = TestServer.start(DuplicateDefaultRoutes.SPEC);
    without = TestServer.start(DuplicateDefaultRoutes.SPEC, Map.of("limiter.gate.enabled", false));
  }

  @BeforeEach
  void forget() {
    with.clear();
    without.clear();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "map", "bean", "list", "member", "path", "query",
        "header", "cookie", "form", "part", "request-bean", "among-others",
        "with-verdict", "key"
      })
  void coffeeAfterTeaIsAnotherSubmission(String kind) {
    for (TestServer server : new TestServer[] {with, without}) {
      assertThat(answer(server, kind, "tea")).isEqualTo("200");
      assertThat(answer(server, kind, "coffee")).isEqualTo("200");
      assertThat(answer(server, kind, "tea")).isEqualTo("409");
      assertThat(answer(server, kind, "coffee")).isEqualTo("409");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"nothing", "only-others", "publisher", "upload", "written"})
  void whereTheCallerFillsNothingThatJsonHoldsTheCallerIsCompared(String kind) {
    for (TestServer server : new TestServer[] {with, without}) {
      assertThat(answer(server, kind, "tea")).isEqualTo("200");
      assertThat(answer(server, kind, "coffee")).isEqualTo("409");
    }
  }

  /** The mapper leaves out what is null: no fault of the service's. */
  @Test
  void anEmptyOrderIsASubmissionToo() {
    assertThat(with.post("/defaults/bean", "{}").statusCode()).isEqualTo(200);
    assertThat(with.post("/defaults/bean", "{}").statusCode()).isEqualTo(409);
    assertThat(answer(with, "bean", "tea")).isEqualTo("200");
  }

  @Test
  void beforeSecurityTheCallerIsCompared() {
    assertThat(answer(with, "early", "tea")).isEqualTo("200");
    assertThat(answer(with, "early", "coffee")).isEqualTo("409");
  }

  /** The status, or the outcome where the method is called in any case. */
  private String answer(TestServer server, String kind, String item) {
    HttpResponse<String> answer = submit(server, kind, item);
    if (kind.equals("with-verdict")) {
      assertThat(answer.statusCode()).isEqualTo(200);
      return answer.body().equals("DUPLICATE") ? "409" : "200";
    }
    assertThat(answer.statusCode()).as(answer.body()).isIn(200, 409);
    return String.valueOf(answer.statusCode());
  }

  private HttpResponse<String> submit(TestServer server, String kind, String item) {
    String path = "/defaults/" + kind;
    String json = "{\"item\":\"%s\"}".formatted(item);
    return switch (kind) {
      case "path" -> server.exchange("POST", path + '/' + item, "");
      case "query", "request-bean" -> server.exchange("POST", path + "?item=" + item, "");
      case "header" -> server.exchange("POST", path, "", "X-Item", item);
      case "cookie" -> server.exchange("POST", path, "", "Cookie", "item=" + item);
      case "list" -> server.post(path, '[' + json + ']');
      case "form" ->
          server.exchange(
              "POST", path, "item=" + item, "Content-Type", "application/x-www-form-urlencoded");
      case "part", "upload" ->
          server.exchange(
              "POST",
              path,
              parts(item),
              "Content-Type",
              "multipart/form-data; boundary=" + BOUNDARY);
      case "among-others" ->
          server.exchange(
              "POST",
              path,
              json,
              "Content-Type",
              "application/json",
              "Accept-Language",
              LANGUAGES.get(requests++ % LANGUAGES.size()));
      default -> server.post(path, json);
    };
  }

  private static String parts(String item) {
    return """
        --%1$s
        Content-Disposition: form-data; name="item"

        %2$s
        --%1$s
        Content-Disposition: form-data; name="photo"; filename="photo.txt"
        Content-Type: text/plain

        %2$s
        --%1$s--
        """
        .formatted(BOUNDARY, item)
        .replace("\n", "\r\n");
  }
}
