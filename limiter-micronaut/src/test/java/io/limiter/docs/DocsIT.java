// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * What the pages show is what is compiled, and what is answered with micronaut-serde, the JSON
 * mapper that Micronaut has by default: the build runs it with that. What starts services, some
 * hundred of them, is part of the matrix.
 */
@Execution(ExecutionMode.CONCURRENT)
class DocsIT {

  private static final Path ROOT = Path.of("..");
  private static final Path EXAMPLES = Path.of("src/test/java/io/limiter/docs");

  /** Tested where the stores are. */
  private static final Path OWN_ALGORITHM =
      ROOT.resolve("limiter-core/src/test/java/io/limiter/core/FadingCounter.java");

  /** Tested where the module is: what it answers, and its settings. */
  private static final Path KEYS =
      ROOT.resolve("limiter-idempotency/src/test/java/io/limiter/idempotency/docs");

  private static final Path CLIENTS =
      ROOT.resolve("limiter-client/src/test/java/io/limiter/client/docs");

  /** An application of its own, with tests of its own; {@link LinksTest} compares each block. */
  static final Path SERVICE = ROOT.resolve("examples/service");

  /** Whose services the tests of the modules start. */
  private static final List<String> PAGES_OF_MODULES =
      List.of("idempotency-keys.md:", "outgoing-calls.md:", "overload.md:", "service.md:");

  private static final Path OVERLOAD =
      ROOT.resolve("limiter-overload/src/test/java/io/limiter/overload/docs");

  private static final Path OPERATORS =
      ROOT.resolve("limiter-management/src/test/java/io/limiter/management/docs");

  /** By its configuration: a service with the endpoint. */
  private static final Pattern ENDPOINT = Pattern.compile("^  limits:", Pattern.MULTILINE);

  /** Those of the test kit, which are a user's. */
  private static final Path KIT = ROOT.resolve("limiter-test/src/test/java");

  /** .ci/commands checks those of shell. */
  private static final Set<String> LANGUAGES =
      Set.of("java", "yaml", "http", "json", "xml", "shell", "text");

  private static final Pattern TYPE_NAME = Pattern.compile("\\b[A-Z]\\w*");

  /** As the lists of the public API have it. */
  private static final Pattern DECLARED_TYPE =
      Pattern.compile("(?:[a-z]+ )*(?:class|record|enum|@?interface) (\\w+)(?!\\.)\\b");

  private static final Map<String, DocsServer> SERVERS = new ConcurrentHashMap<>();

  @AfterAll
  static void close() {
    SERVERS.values().forEach(DocsServer::close);
    SERVERS.clear();
  }

  @TestFactory
  Stream<DynamicTest> javaIsCompiled() throws IOException {
    DocumentedSources sources =
        new DocumentedSources(
            EXAMPLES, OWN_ALGORITHM, KEYS, CLIENTS, OVERLOAD, OPERATORS, KIT, SERVICE);
    return snippets("java")
        .map(
            snippet ->
                DynamicTest.dynamicTest(
                    snippet.where(),
                    () ->
                        assertThat(sources.have(snippet.text()))
                            .as("'%s' is in a source of %s or %s", snippet.text(), EXAMPLES, KIT)
                            .isTrue()));
  }

  /** Before a snippet uses a type, or in its imports: readers have to import it, too. */
  @Test
  void packagesOfTypesAreNamed() throws IOException {
    Map<String, String> packages = packagesOfPublicTypes();
    assertThat(packages)
        .containsEntry("Limiter", "io.limiter.core")
        .containsEntry("RateRule", "io.limiter.micronaut.annotation");
    Set<String> unnamed = new TreeSet<>();
    for (Path page : pages()) {
      String text = Files.readString(page);
      for (Snippet snippet : Snippet.of(page)) {
        String read = text.substring(0, text.indexOf(snippet.text()) + snippet.text().length());
        TYPE_NAME
            .matcher(snippet.language().equals("java") ? snippet.text() : "")
            .results()
            .map(MatchResult::group)
            .filter(packages::containsKey)
            .filter(type -> !isNamed(read, packages.get(type), type))
            .forEach(type -> unnamed.add(snippet.where() + ": " + packages.get(type) + "." + type));
      }
    }
    assertThat(unnamed).isEmpty();
  }

  private static boolean isNamed(String read, String name, String type) {
    return Stream.of("`" + name + "`", "import " + name + ".*;", name + "." + type)
        .anyMatch(read::contains);
  }

  private static Map<String, String> packagesOfPublicTypes() throws IOException {
    Map<String, String> packages = new HashMap<>();
    for (String module :
        List.of(
            "limiter-core",
            "limiter-micronaut",
            "limiter-idempotency",
            "limiter-client",
            "limiter-management",
            "limiter-planner",
            "limiter-overload",
            "limiter-test")) {
      String name = "";
      for (String line : Files.readAllLines(ROOT.resolve("docs/api/" + module + ".txt"))) {
        Matcher type = DECLARED_TYPE.matcher(line);
        if (line.startsWith("package ")) {
          name = line.substring("package ".length());
        } else if (type.lookingAt()) {
          packages.put(type.group(1), name);
        }
      }
    }
    return packages;
  }

  @Tag("matrix")
  @TestFactory
  Stream<DynamicTest> aServiceStartsWithTheConfiguration() throws IOException {
    return snippets("yaml")
        .filter(DocsIT::isOfThisModule)
        .map(snippet -> DynamicTest.dynamicTest(snippet.where(), () -> server(snippet)));
  }

  @Tag("matrix")
  @TestFactory
  Stream<DynamicTest> answersAreAsShown() throws IOException {
    return snippets("http")
        .filter(DocsIT::isOfThisModule)
        .map(snippet -> DynamicTest.dynamicTest(snippet.where(), () -> exchange(snippet)));
  }

  @Test
  void everyBlockIsOfAKindThatIsChecked() throws IOException {
    for (Path page : pages()) {
      for (Snippet snippet : Snippet.of(page)) {
        String name = page.getFileName().toString();
        assertThat(
                LANGUAGES.contains(snippet.language())
                    || name.equals("quick-start.md") && snippet.language().equals("properties"))
            .as("%s is '%s'", snippet.where(), snippet.language())
            .isTrue();
      }
    }
  }

  private static void exchange(Snippet snippet) throws IOException, InterruptedException {
    DocsServer server = server(snippet);
    synchronized (server) { // another snippet of its configuration must not take units meanwhile
      server.forget();
      for (Exchange exchange : Exchange.of(snippet)) {
        for (int i = 1; i < exchange.calls(); i++) {
          server.call(exchange);
        }
        exchange.check(server.call(exchange));
      }
    }
  }

  private static boolean isOfThisModule(Snippet snippet) {
    return PAGES_OF_MODULES.stream().noneMatch(snippet.where()::startsWith)
        && !ENDPOINT.matcher(snippet.text()).find()
        && !ENDPOINT.matcher(snippet.configuration()).find();
  }

  private static DocsServer server(Snippet snippet) {
    return SERVERS.computeIfAbsent(snippet.configuration(), DocsServer::start);
  }

  private static Stream<Snippet> snippets(String language) throws IOException {
    List<Snippet> found = new ArrayList<>();
    for (Path page : pages()) {
      found.addAll(Snippet.of(page));
    }
    return found.stream().filter(snippet -> snippet.language().equals(language));
  }

  static List<Path> pages() throws IOException {
    List<Path> pages = new ArrayList<>();
    for (String page :
        List.of("README.md", "SECURITY.md", "CONTRIBUTING.md", "MAINTAINING.md", "llms.txt")) {
      pages.add(ROOT.resolve(page));
    }
    try (Stream<Path> docs = Files.walk(ROOT.resolve("docs"))) {
      docs.filter(path -> path.toString().endsWith(".md")).sorted().forEach(pages::add);
    }
    return pages;
  }
}
