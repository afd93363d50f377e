// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.testing.HttpService;
import io.micronaut.context.env.yaml.YamlPropertySourceLoader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * The settings of the guide to keys start a service, and its requests are answered as shown. That
 * its sources are compiled is checked with those of all pages, in limiter-micronaut.
 */
class KeysDocsTest {

  private static final Path PAGE = Path.of("../docs/idempotency-keys.md");

  @TestFactory
  Stream<DynamicTest> thePageIsAsTheServiceAnswers() throws IOException {
    return Snippet.of(PAGE).stream()
        .filter(snippet -> snippet.language().equals("yaml") || snippet.language().equals("http"))
        .map(snippet -> DynamicTest.dynamicTest(snippet.where(), () -> run(snippet)));
  }

  private static void run(Snippet snippet) throws IOException {
    String yaml = snippet.language().equals("yaml") ? snippet.text() : snippet.configuration();
    try (Service service = new Service(yaml)) {
      if (snippet.language().equals("http")) {
        for (Exchange exchange : Exchange.of(snippet)) {
          for (int i = 1; i < exchange.calls(); i++) {
            service.call(exchange);
          }
          exchange.check(service.call(exchange));
        }
      }
    }
  }

  private static final class Service extends HttpService {

    Service(String yaml) throws IOException {
      super(
          run(
              "keys-docs",
              new YamlPropertySourceLoader()
                  .read("docs", new ByteArrayInputStream(yaml.getBytes(StandardCharsets.UTF_8)))));
    }

    HttpResponse<String> call(Exchange exchange) {
      String[] fields =
          exchange.fields().entrySet().stream()
              .flatMap(field -> Stream.of(field.getKey(), field.getValue()))
              .toArray(String[]::new);
      return exchange(exchange.method(), exchange.path(), exchange.body(), fields);
    }
  }
}
