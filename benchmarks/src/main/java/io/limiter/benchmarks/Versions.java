// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;

/** The versions of the libraries that run, as they or the build tell them. */
public final class Versions {

  private Versions() {}

  /**
   * By the {@code pom.properties} in the library's jar; by the build, where a library has none.
   *
   * @throws IllegalArgumentException if nobody tells
   */
  public static String of(String group, String artifact) {
    Properties own = read("/META-INF/maven/%s/%s/pom.properties".formatted(group, artifact));
    String version = own.getProperty("version", read("/versions.properties").getProperty(artifact));
    if (version == null) {
      throw new IllegalArgumentException(
          "Nobody tells the version of %s:%s: name its property in versions.properties"
              .formatted(group, artifact));
    }
    return version;
  }

  private static Properties read(String resource) {
    Properties properties = new Properties();
    try (InputStream in = Versions.class.getResourceAsStream(resource)) {
      if (in != null) {
        properties.load(in);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return properties;
  }
}
