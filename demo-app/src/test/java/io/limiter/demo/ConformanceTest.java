// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The program of examples/idempotency: the demo passes, and servers without keys do not. */
class ConformanceTest {

  private static final Path PROGRAM = Path.of("..", "examples", "idempotency", "Conformance.java");
  private static final Path PAGE = Path.of("..", "docs", "internals", "idempotency.md");

  /** The login of ann, whose keys are not those of her address. */
  private static final String ANN = "Authorization: Basic YW5uOmFubg==";

  private record Run(int exit, String output) {

    /** The vectors with this result. */
    List<String> of(String result) {
      return Pattern.compile("(?m)^" + result + " +([a-z-]+)")
          .matcher(output)
          .results()
          .map(match -> match.group(1))
          .toList();
    }
  }

  private static Run run(String uri, String... options) throws Exception {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Dfile.encoding=UTF-8",
                PROGRAM.toString(),
                uri));
    command.addAll(List.of(options));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), UTF_8);
    return new Run(process.waitFor(), output);
  }

  @Test
  void theDemoPassesAllVectorsOfThePage() throws Exception {
    List<String> vectors =
        Pattern.compile("(?m)^\\| `([a-z-]+)` \\|")
            .matcher(Files.readString(PAGE))
            .results()
            .map(match -> match.group(1))
            .toList();
    for (Map<String, Object> settings :
        List.<Map<String, Object>>of(Map.of(), Map.of("limiter.denial.body", "problem"))) {
      try (Demo demo = new Demo(Demo.newService(), settings)) {
        String uri = "http://127.0.0.1:%s/checkout/payment".formatted(demo.port());
        Run run = settings.isEmpty() ? run(uri, "--as", ANN) : run(uri, "--as", ANN, "--problem");

        assertThat(run.of("passed")).as(run.output()).isEqualTo(vectors).hasSize(15);
        assertThat(run.exit()).isZero();
      }
    }
  }

  @Test
  void aServerThatExecutesEachRequestFails() throws Exception {
    Run run = runAgainst(() -> UUID.randomUUID().toString(), false);

    assertThat(run.exit()).isEqualTo(1);
    assertThat(run.of("passed")).as(run.output()).containsExactly("first", "new-key");
    assertThat(run.of("FAILED")).hasSize(13);
  }

  @Test
  void aServerThatAnswersAllKeysAlikeFails() throws Exception {
    Run run = runAgainst(() -> "paid", true);

    assertThat(run.exit()).isEqualTo(1);
    assertThat(run.of("FAILED")).as(run.output()).contains("first", "new-key", "other-caller");
    assertThat(run.of("passed")).containsExactly("again", "marked", "unquoted", "at-once");
  }

  @Test
  void aMistakeInTheCallIsNoResult() throws Exception {
    Run run = run("http://127.0.0.1:1", "--marker");

    assertThat(run.exit()).isEqualTo(2);
    assertThat(run.output()).isEqualToIgnoringNewLines("--marker needs a value");
  }

  private static Run runAgainst(Supplier<String> payment, boolean marked) throws Exception {
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/", exchange -> answer(exchange, payment.get(), marked));
    server.start();
    try {
      String uri = "http://127.0.0.1:%s/".formatted(server.getAddress().getPort());
      return run(uri, "--as", ANN);
    } finally {
      server.stop(0);
    }
  }

  private static void answer(HttpExchange exchange, String payment, boolean marked)
      throws IOException {
    try (exchange) {
      var unused = exchange.getRequestBody().readAllBytes();
      if (marked) {
        exchange.getResponseHeaders().add("Idempotency-Replayed", "true");
      }
      byte[] body = payment.getBytes(UTF_8);
      exchange.sendResponseHeaders(201, body.length);
      exchange.getResponseBody().write(body);
    }
  }
}
