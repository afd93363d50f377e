// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.process;

import io.limiter.benchmarks.Mode;
import io.limiter.benchmarks.Options;
import io.limiter.benchmarks.UsageException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Finds the packed demo. */
public final class DemoJar {

  public static final Mode.Option OPTION =
      new Mode.Option("demo", "JAR", "the demo, packed; the one beside this module unless given");

  private DemoJar() {}

  /**
   * The jar that the options give, otherwise the one that the build creates.
   *
   * @throws UsageException if it does not exist
   */
  public static Path find(Options options) {
    Path jar = options.text(OPTION.name()).map(Path::of).orElseGet(DemoJar::besideThis);
    if (!Files.isRegularFile(jar)) {
      throw new UsageException(
          "The demo is not in %s: pack it with mvnw package, or give --demo where it is"
              .formatted(jar));
    }
    return jar;
  }

  /** This is in {@code benchmarks/target}, as a jar or as classes. */
  private static Path besideThis() {
    try {
      Path here =
          Path.of(DemoJar.class.getProtectionDomain().getCodeSource().getLocation().toURI());
      return here.resolve("../../../demo-app/target/demo-app.jar").normalize();
    } catch (URISyntaxException e) {
      throw new IllegalStateException("These classes have no place: give --demo", e);
    }
  }
}
