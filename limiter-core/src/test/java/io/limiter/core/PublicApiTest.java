// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.testing.PublicApi;
import io.limiter.core.testing.leak.Leaking;
import java.io.IOException;
import java.io.InputStream;
import java.lang.module.ModuleDescriptor;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The packages that the module exports to everybody are a promise, which a file lists. */
class PublicApiTest {

  private static final Path CLASSES = Path.of("target/classes");

  @Test
  void thePublicApiIsThatOfTheFile() throws IOException {
    Set<String> exported;
    try (InputStream module = Files.newInputStream(CLASSES.resolve("module-info.class"))) {
      exported =
          ModuleDescriptor.read(module).exports().stream()
              .filter(each -> !each.isQualified())
              .map(ModuleDescriptor.Exports::source)
              .collect(Collectors.toSet());
    }

    new PublicApi(element -> false)
        .requireSame(
            CLASSES, exported::contains, Path.of("../docs/api/limiter-core.txt"), "limiter-core");
  }

  @Test
  void membersWithTypesThatAreNotPartOfItAreFound() throws IOException {
    Set<String> found =
        new PublicApi(Leaking.Hidden.class::equals)
            .withHiddenTypes(
                Path.of(
                    Leaking.class.getProtectionDomain().getCodeSource().getLocation().getPath()),
                Leaking.class.getPackageName()::equals);

    String leaking = Leaking.class.getName();
    assertThat(found)
        .containsExactlyInAnyOrder(
            "public final java.util.Optional " + leaking + ".field",
            "protected " + leaking + "(" + leaking + "$NotPublic)",
            "public " + leaking + "$Hidden " + leaking + ".returned()",
            "public void " + leaking + ".taken(java.util.List)");
  }
}
