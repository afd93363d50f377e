// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.testing;

import io.micronaut.context.env.PropertiesPropertySourceLoader;
import io.micronaut.context.env.PropertySourceLoader;
import io.micronaut.context.env.yaml.YamlPropertySourceLoader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** Settings as Micronaut reads them from files, in the order in which it reads them. */
public final class Sources {

  private Sources() {}

  /** Of a YAML file with this content. */
  public static Map<String, Object> yaml(String content) {
    return read(new YamlPropertySourceLoader(), content);
  }

  /** Of a .properties file with this content. */
  public static Map<String, Object> properties(String content) {
    return read(new PropertiesPropertySourceLoader(), content);
  }

  private static Map<String, Object> read(PropertySourceLoader loader, String content) {
    try {
      return loader.read(
          "test", new ByteArrayInputStream(content.getBytes(StandardCharsets.UTF_8)));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
