// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.testing.MicronautVersion;
import io.micronaut.context.ApplicationContext;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Limits in Kotlin that kapt hides from Micronaut. The bean definitions are made of classes without
 * the hidden functions, and the classes beside them have these, under names such as Kotlin gives
 * them, which Java cannot write: {@code _OQsFyB8} becomes {@code -OQsFyB8} in the compiled class.
 */
class KotlinUnwovenLimitsTest {

  private static final String FILE = "kotlinlike/Sources.java";

  private static final String SOURCE =
      """
      package kotlinlike;
      import io.limiter.micronaut.annotation.*;
      import jakarta.inject.Singleton;

      interface Api {
        @RateRule default String inherited_OQsFyB8(String phone) { return "ok"; }
        @RateRule default String exempt_OQsFyB8(String phone) { return "ok"; }
      }

      @Singleton
      class Bean implements Api {
        @RateRule String woven() { return "ok"; }
        @RateRule String value_OQsFyB8(String phone) { return "ok"; }
        @NoRateLimit public String exempt_OQsFyB8(String phone) { return "ok"; }
        String free_OQsFyB8(String phone) { return "ok"; }
        @RateRule static String both() { return "ok"; }
        public static final Companion Companion = new Companion();

        static final class Companion {
          @RateRule String both() { return "ok"; }
          @RateRule String only() { return "ok"; }
          String free() { return "ok"; }
        }
      }

      @Singleton
      @RateRule
      class AsAWhole {
        String woven() { return "ok"; }
        String value_OQsFyB8(String phone) { return "ok"; }
        @NoRateLimit String exempt_OQsFyB8(String phone) { return "ok"; }
        private String own_OQsFyB8(String phone) { return "ok"; }
        static String box_OQsFyB8(String phone) { return "ok"; }
      }

      @io.micronaut.http.annotation.Controller
      @RateRule
      class Routes {
        @io.micronaut.http.annotation.Get String route() { return "ok"; }
        String noRoute_OQsFyB8(String phone) { return "ok"; }
      }
      """;

  @TempDir private Path woven;
  @TempDir private Path hidden;

  @Test
  void methodsThatKaptHidesAreNamedAsWritten() throws Exception {
    String unwovenStatic = MicronautVersion.either("none", "@RateRule static"); // 5 refuses it
    String visible =
        SOURCE
            .lines()
            .filter(line -> !line.contains("_OQsFyB8") && !line.contains(unwovenStatic))
            .collect(Collectors.joining("\n"));
    assertThat(Compilation.withMicronaut(FILE, visible, woven)).isEmpty();
    assertThat(Compilation.errors(FILE, SOURCE, hidden, List.of())).isEmpty();
    for (String name : List.of("Api", "Bean", "AsAWhole", "Routes")) {
      rename(Path.of("kotlinlike", name + ".class"));
    }

    try (URLClassLoader classes =
            new URLClassLoader(new URL[] {woven.toUri().toURL()}, getClass().getClassLoader());
        ApplicationContext context = ApplicationContext.builder(classes).start()) {
      assertThat(context.getBean(UnwovenLimits.class).find())
          .filteredOn(place -> place.startsWith("kotlinlike."))
          .satisfiesExactly(
              place -> assertThat(place).startsWith("kotlinlike.Api.inherited (kapt hides"),
              place -> assertThat(place).startsWith("kotlinlike.AsAWhole.value (kapt hides"),
              place -> assertThat(place).startsWith("kotlinlike.Bean.both (a static method"),
              place -> assertThat(place).startsWith("kotlinlike.Bean.only (a static method"),
              place -> assertThat(place).startsWith("kotlinlike.Bean.value (kapt hides"));
    }
  }

  private void rename(Path file) throws IOException {
    String compiled = Files.readString(hidden.resolve(file), StandardCharsets.ISO_8859_1);
    Files.writeString(
        hidden.resolve(file),
        compiled.replace("_OQsFyB8", "-OQsFyB8"),
        StandardCharsets.ISO_8859_1);
    Files.copy(hidden.resolve(file), woven.resolve(file), StandardCopyOption.REPLACE_EXISTING);
  }
}
