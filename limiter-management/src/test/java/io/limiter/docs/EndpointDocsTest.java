// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.management.docs.Passcodes;
import io.limiter.micronaut.testing.HttpService;
import io.micronaut.context.env.yaml.YamlPropertySourceLoader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * What the page on operations shows of the endpoint is what a service answers. That its sources are
 * compiled is checked with those of all pages, in limiter-micronaut.
 */
class EndpointDocsTest {

  private static final Path PAGE = Path.of("../docs/operations.md");

  @Test
  void theEndpointAnswersAsShown() throws IOException {
    List<Snippet> shown =
        Snippet.of(PAGE).stream()
            .filter(snippet -> snippet.language().equals("http"))
            .filter(snippet -> snippet.configuration().contains("  limits:"))
            .toList();
    assertThat(shown).isNotEmpty();
    for (Snippet snippet : shown) {
      try (Service service = new Service(snippet.configuration())) {
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
      super(run(Passcodes.SPEC, settings(yaml)));
    }

    private static Map<String, Object> settings(String yaml) throws IOException {
      return new YamlPropertySourceLoader()
          .read("docs", new ByteArrayInputStream(yaml.getBytes(StandardCharsets.UTF_8)));
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
