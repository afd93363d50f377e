// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

/**
 * Checks a server that understands the {@code Idempotency-Key} by plain HTTP: the vectors of
 * docs/internals/idempotency.md. JDK 17 or later, and nothing else.
 *
 * <pre>
 * java Conformance.java http://localhost:8080/checkout/payment
 *   --body JSON      what is sent; {} by default. Each execution of it must have another response
 *   --other JSON     another body that the route accepts; {"other":true} by default
 *   --header "N: V"  a field of all requests, such as a login; may be repeated
 *   --as "N: V"      a field that replaces these for another caller; without it, no such vector
 *   --optional       a request without a key is processed
 *   --marker NAME    the field that marks a repeated response; "none" if there is none
 *   --draft          only what draft-ietf-httpapi-idempotency-key-header-07 demands or recommends
 *   --problem        errors must be problem documents with the titles of the draft, and a link
 * </pre>
 *
 * Exits with 0 if all vectors passed, 1 if one failed, 2 if it was called wrongly.
 */
public final class Conformance {

  private static final String KEY = "Idempotency-Key";

  /** Requests that are sent at the same time. */
  private static final int AT_ONCE = 20;

  private static final HttpClient CLIENT =
      HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(10)).build();

  private URI uri;
  private String body = "{}";
  private String otherBody = "{\"other\":true}";
  private final List<String> header = new ArrayList<>();
  private Optional<String> otherCaller = Optional.empty();
  private boolean isOptional;
  private String marker = "Idempotency-Replayed";
  private boolean draftOnly;
  private boolean problems;

  private int passed;
  private int failed;
  private int skipped;

  /** A response, with its body as bytes, which a repetition must have exactly. */
  private record Answer(HttpResponse<byte[]> response) {

    int status() {
      return response.statusCode();
    }

    String text() {
      return new String(response.body(), StandardCharsets.UTF_8);
    }

    String field(String name) {
      return String.join(", ", response.headers().allValues(name));
    }

    boolean succeeded() {
      return status() / 100 == 2;
    }

    boolean sameAs(Answer other) {
      return status() == other.status()
          && Arrays.equals(response.body(), other.response.body())
          && field("Content-Type").equals(other.field("Content-Type"));
    }

    @Override
    public String toString() {
      String shown = text().length() > 200 ? text().substring(0, 200) + "…" : text();
      return status() + " " + field("Content-Type") + " " + shown;
    }
  }

  /** What a vector expects and did not find. */
  private static final class Mismatch extends Exception {
    Mismatch(String message) {
      super(message);
    }
  }

  private interface Vector {
    void check() throws Exception;
  }

  public static void main(String[] arguments) throws Exception {
    Conformance conformance = new Conformance();
    try {
      conformance.read(arguments);
    } catch (IllegalArgumentException mistake) {
      System.err.println(mistake.getMessage());
      System.exit(2);
    }
    conformance.run();
    System.out.printf(
        "%s passed, %s failed, %s skipped%n",
        conformance.passed, conformance.failed, conformance.skipped);
    System.exit(conformance.failed == 0 ? 0 : 1);
  }

  private void read(String[] arguments) {
    for (int i = 0; i < arguments.length; i++) {
      String argument = arguments[i];
      switch (argument) {
        case "--optional" -> isOptional = true;
        case "--draft" -> draftOnly = true;
        case "--problem" -> problems = true;
        case "--body", "--other", "--header", "--as", "--marker" -> {
          if (++i == arguments.length) {
            throw new IllegalArgumentException(argument + " needs a value");
          }
          String value = arguments[i];
          switch (argument) {
            case "--body" -> body = value;
            case "--other" -> otherBody = value;
            case "--header" -> header.add(field(value));
            case "--as" -> otherCaller = Optional.of(field(value));
            default -> marker = value;
          }
        }
        default -> {
          if (uri != null || argument.startsWith("-")) {
            throw new IllegalArgumentException("Not understood: " + argument);
          }
          uri = URI.create(argument);
        }
      }
    }
    if (uri == null) {
      throw new IllegalArgumentException("Usage: java Conformance.java <url> [options]");
    }
    if (body.equals(otherBody)) {
      throw new IllegalArgumentException("--body and --other are the same");
    }
  }

  private static String field(String line) {
    if (line.indexOf(':') < 1) {
      throw new IllegalArgumentException("No header field: " + line);
    }
    return line;
  }

  private void run() {
    vector("missing", isOptional, this::missing);
    vector("empty", draftOnly, () -> rejected("\"\""));
    vector("twice", draftOnly, () -> rejected(newKey(), newKey()));
    vector("unterminated", draftOnly, () -> rejected("\"" + UUID.randomUUID()));
    vector("first", false, this::first);
    vector("again", false, this::again);
    vector("marked", draftOnly || marker.equals("none"), this::marked);
    vector("new-key", false, this::anotherKey);
    vector("other-body", false, this::anotherBody);
    vector("other-query", draftOnly, this::anotherQuery);
    vector("after-refusal", false, this::afterRefusal);
    vector("unquoted", false, this::unquoted);
    vector("at-once", false, this::atOnce);
    vector("race", false, this::race);
    vector("other-caller", otherCaller.isEmpty(), this::anotherCaller);
  }

  private void vector(String name, boolean skip, Vector vector) {
    if (skip) {
      skipped++;
      System.out.println("skipped  " + name);
      return;
    }
    try {
      vector.check();
      passed++;
      System.out.println("passed   " + name);
    } catch (Mismatch mismatch) {
      failed++;
      System.out.println("FAILED   " + name + ": " + mismatch.getMessage());
    } catch (Exception broken) {
      failed++;
      System.out.println("FAILED   " + name + ": " + broken);
    }
  }

  private void missing() throws Exception {
    expectError(send(body), 400, "Idempotency-Key is missing");
  }

  private void rejected(String... keys) throws Exception {
    expect(send(body, keys), 400);
  }

  private void first() throws Exception {
    Answer first = success(send(body, newKey()));
    require(
        first.field(marker).isEmpty(),
        "no %s in a first response, not %s",
        marker,
        first.field(marker));
  }

  private void again() throws Exception {
    String key = newKey();
    Answer first = success(send(body, key));
    for (int i = 0; i < 2; i++) {
      expectSame(first, send(body, key));
    }
  }

  private void marked() throws Exception {
    String key = newKey();
    success(send(body, key));
    Answer again = success(send(body, key));
    require(again.field(marker).equals("true"), "%s: true, not '%s'", marker, again.field(marker));
  }

  /** Otherwise nothing here would show whether a request was executed again. */
  private void anotherKey() throws Exception {
    Answer one = success(send(body, newKey()));
    Answer other = success(send(body, newKey()));
    require(!one.sameAs(other), "another response for another key, not %s again", other);
  }

  private void anotherBody() throws Exception {
    String key = newKey();
    success(send(body, key));
    expectError(send(otherBody, key), 422, "Idempotency-Key is already used");
  }

  private void anotherQuery() throws Exception {
    String key = newKey();
    success(send(body, key));
    URI other = URI.create(uri + (uri.getRawQuery() == null ? "?" : "&") + "conformance=1");
    expectError(answer(request(other, body, header, key)), 422, "Idempotency-Key is already used");
  }

  private void afterRefusal() throws Exception {
    String key = newKey();
    Answer first = success(send(body, key));
    expect(send(otherBody, key), 422);
    expectSame(first, send(body, key));
  }

  /** The draft allows only the quoted form, and most clients send the other one. */
  private void unquoted() throws Exception {
    String text = UUID.randomUUID().toString();
    Answer first = success(send(body, '"' + text + '"'));
    Answer again = send(body, text);
    require(
        again.status() == 400 || again.sameAs(first), "400, or the response again, not %s", again);
  }

  private void atOnce() throws Exception {
    String key = newKey();
    List<Answer> answers = all(Stream.generate(() -> body).limit(AT_ONCE).toList(), key);
    Answer last = success(send(body, key));
    for (Answer answer : answers) {
      require(answer.status() == 409 || answer.sameAs(last), "409, or %s, not %s", last, answer);
      if (answer.status() == 409 && problems) {
        expectError(answer, 409, "A request is outstanding for this Idempotency-Key");
      }
    }
  }

  /** Whichever comes first has the key, and the other one is not executed. */
  private void race() throws Exception {
    String key = newKey();
    List<String> bodies = new ArrayList<>();
    for (int i = 0; i < AT_ONCE; i++) {
      bodies.add(i % 2 == 0 ? body : otherBody);
    }
    List<Answer> answers = all(bodies, key);
    Answer one = send(body, key);
    Answer other = send(otherBody, key);
    Answer winner = one.succeeded() ? one : success(other);
    String won = one.succeeded() ? body : otherBody;
    expect(one.succeeded() ? other : one, 422);
    for (int i = 0; i < answers.size(); i++) {
      Answer answer = answers.get(i);
      boolean mayBe =
          bodies.get(i).equals(won)
              ? answer.status() == 409 || answer.sameAs(winner)
              : answer.status() == 409 || answer.status() == 422;
      require(mayBe, "one execution, %s, and refusals, not %s", winner, answer);
    }
  }

  private void anotherCaller() throws Exception {
    String key = newKey();
    Answer first = success(send(body, key));
    List<String> as = List.of(otherCaller.orElseThrow());
    Answer other = success(answer(request(uri, body, as, key)));
    require(!other.sameAs(first), "a response of its own for another caller, not %s", other);
    expectSame(first, send(body, key));
  }

  private static String newKey() {
    return '"' + UUID.randomUUID().toString() + '"';
  }

  private Answer send(String content, String... keys) throws Exception {
    return answer(request(uri, content, header, keys));
  }

  private List<Answer> all(List<String> contents, String key) {
    List<CompletableFuture<HttpResponse<byte[]>>> sent =
        contents.stream()
            .map(
                content ->
                    CLIENT.sendAsync(
                        request(uri, content, header, key), BodyHandlers.ofByteArray()))
            .toList();
    return sent.stream().map(CompletableFuture::join).map(Answer::new).toList();
  }

  private static Answer answer(HttpRequest request) throws IOException, InterruptedException {
    return new Answer(CLIENT.send(request, BodyHandlers.ofByteArray()));
  }

  private static HttpRequest request(URI to, String content, List<String> fields, String... keys) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(to)
            .version(HttpClient.Version.HTTP_1_1)
            .timeout(Duration.ofSeconds(30))
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, application/problem+json")
            .POST(BodyPublishers.ofString(content));
    for (String line : fields) {
      int colon = line.indexOf(':');
      request.header(line.substring(0, colon).strip(), line.substring(colon + 1).strip());
    }
    for (String key : keys) {
      request.header(KEY, key);
    }
    return request.build();
  }

  private static Answer success(Answer answer) throws Mismatch {
    require(answer.succeeded(), "2xx, not %s", answer);
    return answer;
  }

  private static void expect(Answer answer, int status) throws Mismatch {
    require(answer.status() == status, "%s, not %s", status, answer);
  }

  private void expectError(Answer answer, int status, String title) throws Mismatch {
    expect(answer, status);
    if (problems) {
      require(
          answer.field("Content-Type").startsWith("application/problem+json"),
          "application/problem+json, not %s",
          answer);
      String compact = answer.text().replaceAll("\"\\s*:\\s*\"", "\":\"");
      require(
          compact.contains("\"title\":\"" + title + "\""), "the title '%s', not %s", title, answer);
      require(
          compact.contains("\"type\":\"") && !compact.contains("\"type\":\"about:blank\""),
          "a link as the type, not %s",
          answer);
    }
  }

  private static void expectSame(Answer first, Answer again) throws Mismatch {
    require(again.sameAs(first), "%s again, byte for byte, not %s", first, again);
  }

  private static void require(boolean found, String expected, Object... values) throws Mismatch {
    if (!found) {
      throw new Mismatch("expected " + expected.formatted(values));
    }
  }
}
