// SPDX-License-Identifier: Apache-2.0
package io.limiter.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.micronaut.context.ApplicationContext;
import io.micronaut.context.env.yaml.YamlPropertySourceLoader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * The settings of the page are the defaults. That its sources are compiled is checked with those of
 * all pages, in limiter-micronaut.
 */
class ClientDocsTest {

  private static final Pattern YAML = Pattern.compile("```yaml\n(.*?)```", Pattern.DOTALL);

  @Test
  void aServiceStartsWithTheSettings() throws IOException {
    Matcher yaml = YAML.matcher(Files.readString(Path.of("../docs/outgoing-calls.md")));
    assertThat(yaml.find()).isTrue();
    Map<String, Object> settings =
        new YamlPropertySourceLoader()
            .read("docs", new ByteArrayInputStream(yaml.group(1).getBytes(StandardCharsets.UTF_8)));
    assertThat(settings).hasSize(SettingsCheck.KNOWN.size());
    ClientConfiguration usual = of(Map.of());
    settings.put("spec.name", "client-docs"); // with the sources that the page shows
    assertThat(of(settings)).isEqualTo(usual);
    assertThat(yaml.find()).isFalse();
  }

  private static ClientConfiguration of(Map<String, Object> settings) {
    try (ApplicationContext context = ApplicationContext.run(settings)) {
      return context.getBean(ClientConfiguration.class);
    }
  }
}
