// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.limiter.micronaut.testing.HttpService;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** However a request is spelled, whatever comes of it: it is counted once, or reaches no method. */
class BypassTest extends WithAndWithoutGate {

  private static final String ITEMS = "/bypass/items";

  BypassTest() {
    super(
        BypassRoutes.SPEC,
        Map.of(
            HttpService.AT_ROOT,
            true,
            "micronaut.server.max-request-size",
            2_000_000_000,
            "micronaut.server.cors.enabled",
            true,
            "micronaut.server.cors.localhost-pass-through",
            true));
  }

  @BeforeEach
  void forgetEntries() {
    entered();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/bypass/items/",
        "/bypass/items?",
        "/bypass/items?x=1",
        "http://localhost/bypass/items",
        "http://elsewhere.example/bypass/items"
      })
  void aSpellingThatReachesTheRouteHasItsLimit(String target) {
    RawCall.Answer first = call("GET", target);
    assertThat(first.status()).isEqualTo(200);
    assertThat(first.field("ratelimit")).startsWith("\"3-per-60s\";r=2;");
    exhaust();

    assertThat(call("GET", target).status()).isEqualTo(429);
    assertThat(entered()).isEqualTo(3);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "//bypass/items",
        "/bypass/items//",
        "/bypass/items#x",
        "/bypass/%69tems",
        "/%62ypass/items",
        "/bypass//items",
        "/./bypass/items",
        "/bypass/./items",
        "/bypass/../bypass/items",
        "/bypass/%2e/items",
        "/bypass/%2e%2e/bypass/items",
        "/bypass%2fitems",
        "/bypass%2Fitems",
        "/bypass%5citems",
        "/bypass\\items",
        "/bypass/items%2f",
        "/bypass/items;x=1",
        "/bypass;x=1/items",
        "/bypass/items%3Bx=1",
        "/bypass/items%3bx",
        "/bypass/items%20",
        "/bypass/items%00",
        "/bypass/items%0a",
        "/bypass/items.json",
        "/bypass/items.",
        "/bypass/items/*",
        "/BYPASS/items",
        "/bypass/Items",
        "/bypass/%2569tems",
        "/bypass/%c0%aeitems",
        "bypass/items",
        "/bypass/items%",
        "*"
      })
  void anyOtherSpellingReachesItNeverOrHasItsLimit(String target) {
    int first = call("GET", target).status();
    int reached = entered();
    assertThat(reached).isEqualTo(first == 200 ? 1 : 0);
    for (int call = 0; call < 5; call++) {
      call("GET", target);
    }
    assertThat(entered()).as("the others").isEqualTo(reached * 2); // of three

    exhaust();
    entered();
    assertThat(call("GET", target).status()).isEqualTo(first == 200 ? 429 : first);
    assertThat(entered()).isZero();
  }

  @Test
  void allSpellingsTogetherHaveOneLimit() {
    for (String target :
        new String[] {
          "/bypass/items", "/bypass/items/", "http://x/bypass/items", "/bypass/items?a=b"
        }) {
      call("GET", target);
      call("HEAD", target);
    }

    assertThat(entered()).isEqualTo(3);
    assertThat(server.keys().all()).hasSize(1);
  }

  @Test
  void anArgumentInThePathIsTheSameHoweverItIsSpelled() {
    for (String name : new String[] {"ann", "%61nn", "an%6E"}) {
      assertThat(call("GET", "/bypass/users/" + name).status()).isEqualTo(200);
    }

    assertThat(call("GET", "/bypass/users/ann").status()).isEqualTo(429);
    assertThat(call("GET", "/bypass/users/ann/").status()).isNotEqualTo(200);
    assertThat(call("GET", "/bypass/users/bob").status()).isEqualTo(200);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "X-HTTP-Method-Override: OPTIONS",
        "X-HTTP-Method: HEAD",
        "X-Method-Override: PUT",
        "X-Original-URL: /bypass/free",
        "X-Rewrite-URL: /bypass/free",
        "X-Forwarded-Prefix: /free",
        "Upgrade: websocket",
        "Origin: http://elsewhere.example",
        "User-Agent: Googlebot/2.1",
        "User-Agent: kube-probe/1.30",
        "Referer: https://admin.internal/",
        "X-Forwarded-For: 127.0.0.1",
        "X-Real-IP: 127.0.0.1",
        "X-Internal: true",
        "X-RateLimit-Bypass: 1",
        "Authorization: Bearer admin",
        "Cookie: admin=1",
        "Cache-Control: no-cache"
      })
  void noHeaderChangesWhatIsCounted(String header) {
    assertThat(call("GET", ITEMS, header).field("ratelimit")).startsWith("\"3-per-60s\";r=2;");
    exhaust();

    assertThat(call("GET", ITEMS, header).status()).isEqualTo(429);
    assertThat(entered()).isEqualTo(3);
  }

  @ParameterizedTest
  @ValueSource(strings = {"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "FROB"})
  void anotherMethodReachesNothing(String method) {
    for (int call = 0; call < 5; call++) {
      assertThat(call(method, ITEMS, "X-HTTP-Method-Override: GET", "Content-Length: 0").status())
          .isBetween(400, 501);
    }

    assertThat(entered()).isZero();
    assertThat(server.keys().all()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"get", "Get", "gEt"})
  void aMethodInSmallLettersReachesNothingOrIsTheSame(String method) {
    int first = call(method, ITEMS).status();
    assertThat(entered()).isEqualTo(first == 200 ? 1 : 0);
    exhaust();
    entered();

    assertThat(call(method, ITEMS).status()).isEqualTo(first == 200 ? 429 : first);
    assertThat(entered()).isZero();
  }

  @Test
  void aBrowsersQuestionBeforeACallIsNoCallAndItCanReadTheDenial() {
    String origin = "Origin: http://shop.example";
    for (int call = 0; call < 10; call++) {
      RawCall.Answer preflight =
          call("OPTIONS", ITEMS, origin, "Access-Control-Request-Method: GET");
      assertThat(preflight.status()).isEqualTo(200);
      assertThat(preflight.field("access-control-allow-origin")).isNotEmpty();
    }
    assertThat(entered()).isZero();
    assertThat(server.keys().all()).isEmpty();

    exhaust();
    RawCall.Answer denied = call("GET", ITEMS, origin);
    assertThat(denied.status()).isEqualTo(429);
    assertThat(denied.field("access-control-allow-origin")).isNotEmpty();
    assertThat(call("OPTIONS", ITEMS, origin, "Access-Control-Request-Method: GET").status())
        .isEqualTo(200);
  }

  @ParameterizedTest
  @ValueSource(strings = {"handled", "own-route", "broken-route", "status", "unhandled"})
  void aFailureIsOneCallWhateverHandlesIt(String failure) {
    for (int left = 2; left >= 0; left--) {
      HttpResponse<String> failed = server.get("/bypass/failing/" + failure);
      assertThat(failed.statusCode()).isNotEqualTo(429);
      assertThat(failed.headers().allValues("RateLimit"))
          .singleElement()
          .asString()
          .startsWith("\"3-per-60s\";r=" + left + ";");
    }

    assertThat(server.get("/bypass/failing/" + failure).statusCode()).isEqualTo(429);
  }

  @Test
  void whatTheRouteDoesNotTakeDoesNotReachIt() {
    for (int call = 0; call < 5; call++) {
      assertThat(upload("text/csv", "*/*")).isEqualTo(415);
      assertThat(upload("application/json", "image/png")).isEqualTo(406);
    }

    assertThat(entered()).isZero();
    assertThat(server.keys().all()).isEmpty();
  }

  /** One key for the address, and one for each invented key that was admitted. */
  @Test
  void aRuleForTheAddressHoldsWhateverKeysACallerInvents() {
    int admitted = 0;
    for (int call = 0; call < 12; call++) {
      admitted += server.status("/bypass/paired", "X-Api-Key", "key " + call) == 200 ? 1 : 0;
    }
    assertThat(admitted).isEqualTo(4);
    assertThat(server.keys().all())
        .hasSize(5)
        .allSatisfy((key, stored) -> assertThat(stored.expiry()).isPositive());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "Content-Length: 1000000000\n\n",
        "Content-Length: 1000000000\n\n\"begun",
        "Transfer-Encoding: chunked\n\n",
        "Transfer-Encoding: chunked\n\n4\nabcd\n",
        "Expect: 100-continue\nContent-Length: 1000000000\n\n",
        "Expect: 100-continue\nTransfer-Encoding: chunked\n\n"
      })
  void aDeniedRequestIsAnsweredBeforeItsBodyIsThere(String bodyThatNeverComes) {
    assumeTrue(gate, "the gate decides by the head of a request");
    for (int call = 0; call < 3; call++) {
      assertThat(upload("application/json", "*/*")).isEqualTo(200);
    }
    String head = "POST /bypass/upload HTTP/1.1\nHost: localhost\nContent-Type: application/json\n";
    assertThat(RawCall.send(server.port(), head + bodyThatNeverComes).status()).isEqualTo(429);
    assertThat(entered()).isEqualTo(3);
  }

  private int upload(String sent, String wanted) {
    return server
        .exchange("POST", "/bypass/upload", "\"x\"", "Content-Type", sent, "Accept", wanted)
        .statusCode();
  }

  private RawCall.Answer call(String method, String target, String... fields) {
    return RawCall.send(server.port(), method, target, fields);
  }

  private void exhaust() {
    for (int call = 0; call < 4; call++) {
      server.get(ITEMS);
    }
    assertThat(server.get(ITEMS).statusCode()).isEqualTo(429);
  }

  private int entered() {
    return server.bean(BypassRoutes.class).entered.getAndSet(0);
  }

  /**
   * A call that is sent to the letter, on a connection of its own: clients tidy up what attackers
   * send.
   */
  static final class RawCall {

    private static final int PATIENCE_MILLIS = 20_000;

    /** In place of a status: the server has closed the connection without an answer. */
    static final int CLOSED = 0;

    private RawCall() {}

    /**
     * What came back first.
     *
     * @param fields by their names, in lower case
     */
    record Answer(int status, Map<String, String> fields) {

      String field(String name) {
        return fields.getOrDefault(name, "");
      }
    }

    /**
     * @param call the request line, the fields, an empty line, and as much of the body as is to be
     *     sent; lines end with a line feed here
     */
    static Answer send(int port, String call) {
      try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
        socket.setSoTimeout(PATIENCE_MILLIS);
        socket
            .getOutputStream()
            .write(call.replace("\n", "\r\n").getBytes(StandardCharsets.ISO_8859_1));
        BufferedReader in =
            new BufferedReader(
                new InputStreamReader(socket.getInputStream(), StandardCharsets.ISO_8859_1));
        String status = in.readLine();
        if (status == null) {
          return new Answer(CLOSED, Map.of());
        }
        Map<String, String> fields = new TreeMap<>();
        for (String line = in.readLine(); line != null && !line.isEmpty(); line = in.readLine()) {
          int colon = line.indexOf(':');
          fields.put(
              line.substring(0, colon).toLowerCase(Locale.ROOT), line.substring(colon + 1).strip());
        }
        return new Answer(Integer.parseInt(status.split(" ")[1]), fields);
      } catch (IOException e) {
        throw new AssertionError(call + " got no answer", e);
      }
    }

    /** Sends a call without a body. */
    static Answer send(int port, String method, String target, String... fields) {
      String more = fields.length == 0 ? "" : String.join("\n", fields) + "\n";
      return send(port, method + " " + target + " HTTP/1.1\nHost: localhost\n" + more + "\n");
    }
  }
}
