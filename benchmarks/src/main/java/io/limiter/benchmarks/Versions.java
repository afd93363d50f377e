// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;

/** The versions of the libraries in use, as they or the build report them. */
public final class Versions {

  private Versions() {}

  /**
   * From the {@code pom.properties} in the library's jar; from the build, if a library has none.
   *
   * @throws IllegalArgumentException if neither has it
   */
  public static String of(String group, String artifact) {
    Properties own = read("/META-INF/maven/%s/%s/pom.properties".formatted(group, artifact));
    String version = own.getProperty("version", read("/versions.properties").getProperty(artifact));
    if (version == null) {
      throw new IllegalArgumentException(
          "The version of %s:%s is unknown: name its property in versions.properties"
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
