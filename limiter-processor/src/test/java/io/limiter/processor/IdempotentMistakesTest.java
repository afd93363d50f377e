// SPDX-License-Identifier: Apache-2.0
package io.limiter.processor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Mistakes in {@code @Idempotent} are errors of the compiler, in the words of the start. */
@Tag("matrix")
class IdempotentMistakesTest {

  private static final String IDEMPOTENT = "@io.limiter.idempotency.Idempotent";
  private static final String PUBLISHER = "org.reactivestreams.Publisher";
  private static final String MONO = "reactor.core.publisher.Mono";
  private static final String FLUX = "reactor.core.publisher.Flux";

  @TempDir private Path output;

  /** What the annotation has, what the method returns, and a part of the error. */
  static Stream<Arguments> mistakes() {
    return Stream.of(
        arguments("retain = \"soon\"", "String", "retain = \"soon\" is no time: write one"),
        arguments("retain = \"999ms\"", "String", "retain = \"999ms\": use 1 s to 31622400 s"),
        arguments("retain = \"367d\"", "String", "retain = \"367d\": use 1 s to 31622400 s"),
        arguments("claim = \"0s\"", "String", "claim = \"0s\": use 1 s to 600 s"),
        arguments("claim = \"11m\"", "String", "claim = \"11m\": use 1 s to 600 s"),
        arguments("maxWait = \"31s\"", "String", "maxWait = \"31s\": use 0 s to 30 s"),
        arguments("releaseOn = 500", "String", "releaseOn has 500: name statuses from 400 to 499"),
        arguments("releaseOn = {402, 399}", "String", "releaseOn has 399: name statuses from 400"),
        arguments(
            "header = \"X-Key\", resolver = Who.class",
            "String",
            "header, resolver and subject each name the owner of a key: keep one of them"),
        arguments(
            "header = \"X-Key\", subject = \"#{order}\"",
            "String",
            "header, resolver and subject each name the owner of a key: keep one of them"),
        arguments("subject = \"account\"", "String", "subject = \"account\": write an expression"),
        arguments(
            "subject = \"#{order}\"", "String", "subject = \"#{order}\": write an expression"),
        arguments("", FLUX + "<String>", "a stream: return its items together"),
        arguments("", PUBLISHER + "<String>", "a stream: return its items together"),
        arguments("retain = \"\"", FLUX + "<String>", "a stream: return its items together"),
        arguments("", "HttpResponse<" + FLUX + "<String>>", "a stream: return its items together"),
        arguments("", MONO + "<HttpResponse<" + FLUX + "<String>>>", "a stream: return its items"),
        arguments("", "CompletionStage<" + FLUX + "<String>>", "a stream: return its items"),
        arguments("", "Optional<" + FLUX + "<String>>", "a stream: return its items"),
        arguments("", "java.io.InputStream", "which is produced while it is written"),
        arguments("", "java.io.File", "which is produced while it is written"),
        arguments("", "io.micronaut.core.io.Writable", "which is produced while it is written"),
        arguments(
            "", "HttpResponse<io.micronaut.core.io.Writable>", "do without repeated responses"),
        arguments("", MONO + "<java.io.File>", "which is produced while it is written"),
        arguments("", "Future<String>", "which does not show when the method ends"),
        arguments(
            "", "HttpResponse<CompletionStage<String>>", "does not show when the method ends"));
  }

  @ParameterizedTest
  @MethodSource("mistakes")
  void aMistakeIsReportedAsAtTheStart(String members, String result, String part)
      throws IOException {
    String method =
        "@Post(\"/pay\") %s(%s) %s pay(@Body String order, int[] numbers, Map.Entry<String, String> entry) { return null; }"
            .formatted(IDEMPOTENT, members, result);
    requireSame(
        "@Controller class Shop {\n"
            + method
            + "\n@Singleton static class Who implements SubjectResolver { public Optional<String> resolve(HttpRequest<?> request) { return Optional.empty(); } } }",
        part,
        method);
  }

  @Test
  void aMethodThatIsNoRouteIsReported() throws IOException {
    String method = "%s void pay(String order) {}".formatted(IDEMPOTENT);
    requireSame(
        "@Singleton class Shop {\n" + method + "\n}",
        "it is no route: for other code there is io.limiter.idempotency.IdempotentCalls",
        method);
  }

  private void requireSame(String source, String part, String line) throws IOException {
    Path plain = Files.createDirectory(output.resolve("plain"));
    String atStart = Compilation.without(plain, source).mistakeAtStart();
    assertThat(atStart).startsWith("@Idempotent on compiled.Shop.pay(").contains(part);
    assertThat(Compilation.of(output, source).errors())
        .singleElement()
        .satisfies(
            error -> {
              assertThat(error.message()).isEqualTo(atStart);
              assertThat(error.line()).isEqualTo(line);
            });
  }

  @Test
  void eachMistakeOfAClassIsReportedOnce() {
    assertThat(
            Compilation.of(
                    output,
                    """
                    @Controller
                    @io.limiter.idempotency.Idempotent(retain = "0s", claim = "1h")
                    class Shop {
                      @Post("/one") String one() { return ""; }
                      @Post("/two") String two() { return ""; }
                      void helper() {}
                      @Post("/three") java.io.File three() { return null; }
                    }
                    """)
                .errors())
        .extracting(Compilation.Found::message)
        .containsExactlyInAnyOrder(
            "@Idempotent on compiled.Shop.one(): retain = \"0s\": use 1 s to 31622400 s",
            "@Idempotent on compiled.Shop.one(): claim = \"1h\": use 1 s to 600 s",
            "@Idempotent on compiled.Shop.three(): it returns java.io.File, which is produced while it is written and cannot be kept: return a value, or do without repeated responses, by retain = \"\"");
  }

  /** The annotation of an annotation, of a supertype, and on an interface. */
  @Test
  void aMistakeIsReportedOnceWhereverTheAnnotationComesFrom() {
    assertThat(
            Compilation.of(
                    output,
                    """
                    @io.limiter.idempotency.Idempotent(maxWait = "1h")
                    @Retention(RetentionPolicy.RUNTIME)
                    @interface Once {}
                    @Controller class Shop {
                      @Once @Post("/one") String one() { return ""; }
                    }
                    interface Api {
                      @io.limiter.idempotency.Idempotent @Post("/two") Future<String> two();
                    }
                    @Controller class Bean implements Api {
                      public Future<String> two() { return null; }
                    }
                    """)
                .errors())
        .extracting(Compilation.Found::message)
        .containsExactlyInAnyOrder(
            "@Idempotent on compiled.Shop.one(): maxWait = \"1h\": use 0 s to 30 s",
            "@Idempotent on compiled.Bean.two(): it returns java.util.concurrent.Future<java.lang.String>, which does not show when the method ends: return a CompletionStage, a Mono or a value");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "() String",
        "() HttpResponse<?>",
        "() Object",
        "() void",
        "() Optional<String>",
        "() HttpResponse<byte[]>",
        "() CompletionStage<HttpResponse<List<String>>>",
        "() reactor.core.publisher.Mono<HttpResponse<String>>",
        "() org.reactivestreams.Publisher<HttpResponse<String>>",
        "(retain = \"\") java.io.File",
        "(retain = \"${retention}\", claim = \"10m\", maxWait = \"0s\") String",
        "(retain = \"366d\", claim = \"1s\", maxWait = \"30s\", releaseOn = {400, 499}) String",
        "(header = \"X-Api-Key\", required = false, chargeRepetitions = true) String"
      })
  void whatIsRightIsNotReported(String annotationAndResult) {
    String[] parts = annotationAndResult.split("\\) ", 2);
    String method =
        "@Post(\"/pay\") %s%s) %s pay() { %s }"
            .formatted(
                IDEMPOTENT, parts[0], parts[1], parts[1].equals("void") ? "" : "return null;");
    assertThat(Compilation.of(output, "@Controller class Shop {\n" + method + "\n}").errors())
        .isEmpty();
  }
}
