// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.plot;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The diagrams of docs/internals/architecture.md, and the one style of all drawn pictures. */
class DiagramsTest {

  private static final Path ROOT = Path.of("..");
  private static final Path DIAGRAMS = ROOT.resolve("docs").resolve("diagrams");
  private static final boolean WRITE = "write".equals(System.getProperty("limiter.pictures"));
  private static final int WIDTH = 860;

  private static final Set<String> COLOURS =
      Set.of(
          "#fff", "#ffebe9", Svg.BAND, Svg.INK, Svg.BLUE, Svg.GREEN, Svg.RED, Svg.GREY, Svg.LINE);

  private static final Pattern COLOUR = Pattern.compile("(?:fill|stroke)=\"(#[0-9a-f]+)\"");

  /** A module in the diagram, with what it needs of the others at run time. */
  private record Module(String name, String line, int x, int y, int width, List<String> needs) {}

  private static final int BOX = 150;
  private static final int HEIGHT = 50;

  private static final List<Module> MODULES =
      List.of(
          new Module(
              "limiter-core",
              "rules, verdicts, stores: without Micronaut",
              20,
              230,
              652,
              List.of()),
          new Module("limiter-client", "what clients send", 690, 230, BOX, List.of()),
          new Module(
              "limiter-planner", "replays access logs", 20, 320, BOX, List.of("limiter-core")),
          new Module(
              "limiter-micronaut",
              "annotations and settings, plans, the gate before routes, the guard around methods, denials",
              20,
              140,
              820,
              List.of("limiter-core")),
          new Module(
              "limiter-idempotency",
              "submissions run once",
              20,
              50,
              BOX,
              List.of("limiter-micronaut")),
          new Module(
              "limiter-management",
              "the endpoint, overrides",
              187,
              50,
              BOX,
              List.of("limiter-micronaut")),
          new Module(
              "limiter-processor",
              "mistakes, while compiled",
              522,
              50,
              BOX,
              List.of("limiter-micronaut")),
          new Module(
              "limiter-overload",
              "what is in flight adapts",
              355,
              50,
              BOX,
              List.of("limiter-micronaut")),
          new Module("limiter-test", "the test kit", 690, 50, BOX, List.of("limiter-micronaut")));

  private static String modules() {
    Svg svg = new Svg();
    Map<String, Module> byName = new LinkedHashMap<>();
    MODULES.forEach(module -> byName.put(module.name(), module));
    for (Module module : MODULES) {
      svg.box(module.x(), module.y(), module.width(), HEIGHT, module.name(), module.line());
      double middle = module.x() + module.width() / 2.0;
      for (String need : module.needs()) {
        int needed = byName.get(need).y();
        if (module.y() < needed) {
          svg.arrow(middle, module.y() + HEIGHT, middle, needed, Svg.GREY);
        } else {
          svg.arrow(middle, module.y(), middle, needed + HEIGHT, Svg.GREY);
        }
      }
    }
    svg.text(
        16,
        398,
        "start",
        "An arrow: needs. limiter-bom has the versions; demo-app and benchmarks, which are never published, need all.");
    return svg.svg("The modules", WIDTH, 412);
  }

  /** One call, from the left to the right and back; green is admitted, red denied. */
  private static String request() {
    Svg svg = new Svg();
    svg.box(20, 60, 130, 50, "request", "GET /articles");
    svg.arrow(150, 85, 190, 85, Svg.INK);
    svg.box(190, 60, 140, 50, "http.GateFilter", "1 plan and subject");
    svg.arrow(330, 85, 370, 85, Svg.INK);
    svg.box(370, 60, 160, 50, "AdmissionControl", "2 asks, reports");
    svg.arrow(530, 85, 570, 85, Svg.INK);
    List<String> stores =
        List.of("OverrideStore", "DenyCache", "LeaseStore", "FallbackStore", "RedisStore", "Redis");
    List<String> lines =
        List.of(
            "3 with overrides",
            "4 denied until then?",
            "5 taken in advance?",
            "6 breaker, deadline",
            "7 one EVALSHA",
            "decide.lua: all rules");
    for (int s = 0; s < stores.size(); s++) {
      double y = 60 + 72.0 * s;
      svg.box(570, y, 140, 50, stores.get(s), lines.get(s));
      if (s > 0) {
        svg.arrow(640, y - 22, 640, y, Svg.INK);
      }
    }
    svg.arrow(710, 301, 735, 301, Svg.GREY);
    svg.box(735, 276, 110, 50, "MemoryStore", "if Redis is late");
    svg.path("M570 445H450", Svg.BLUE, 1.5);
    svg.arrow(450, 445, 450, 110, Svg.BLUE);
    svg.text(458, 437, "start", "8 the reply: Verdict");
    svg.path("M410 110V165", Svg.GREEN, 1.5);
    svg.arrow(410, 165, 330, 165, Svg.GREEN);
    svg.text(384, 157, "end", "admitted");
    svg.box(190, 140, 140, 50, "LimitInterceptor", "9 does not ask again");
    svg.arrow(260, 190, 260, 220, Svg.GREEN);
    svg.box(190, 220, 140, 50, "the method", "10 your code");
    svg.path("M390 110V325", Svg.RED, 1.5);
    svg.arrow(390, 325, 330, 325, Svg.RED);
    svg.text(382, 317, "end", "denied");
    svg.box(190, 300, 140, 50, "DirectDenials", "429, 409 or 503");
    svg.path("M190 245H105V190", Svg.GREEN, 1.5);
    svg.path("M190 325H65V190", Svg.RED, 1.5);
    svg.arrow(105, 200, 105, 190, Svg.GREEN);
    svg.arrow(65, 200, 65, 190, Svg.RED);
    svg.box(20, 140, 130, 50, "response", "11 RateLimit fields");
    svg.text(
        16,
        502,
        "start",
        "All but your method runs on the request's event loop, which never waits. The guard decides calls whose subject is in the body.");
    return svg.svg("One request's way", WIDTH, 518);
  }

  @Test
  void theDiagramsAreDrawn() throws IOException {
    for (Map.Entry<String, String> drawn :
        Map.of("modules", modules(), "request", request()).entrySet()) {
      Path file = DIAGRAMS.resolve(drawn.getKey() + ".svg");
      if (WRITE) {
        Svg.write(file, drawn.getValue());
      }
      assertThat(file).as("drawn with: mvnw test -Ppictures").hasContent(drawn.getValue());
    }
  }

  /** By the POMs: without what is only for tests, or only built before. */
  @Test
  void theArrowsBetweenModulesAreThoseOfThePoms() throws IOException {
    for (Module module : MODULES) {
      String pom = Files.readString(ROOT.resolve(module.name()).resolve("pom.xml"));
      Set<String> needs = new TreeSet<>();
      for (String dependency : pom.split("<dependency>")) {
        String one = dependency.split("</dependency>")[0];
        MODULES.stream()
            .map(Module::name)
            .filter(name -> one.contains("<artifactId>" + name + "</artifactId>"))
            .filter(name -> !one.contains("<scope>test") && !one.contains("<scope>provided"))
            .filter(name -> one.contains("<groupId>io.limiter</groupId>"))
            .forEach(needs::add);
      }
      needs.remove(module.name());
      assertThat(reachable(module.name())).as(module.name()).containsAll(needs);
      assertThat(needs).as(module.name()).containsAll(module.needs());
    }
    String pom = Files.readString(ROOT.resolve("pom.xml"));
    for (Module module : MODULES) {
      assertThat(pom).contains("<module>" + module.name() + "</module>");
    }
  }

  private static Set<String> reachable(String name) {
    Set<String> found = new TreeSet<>();
    for (Module module : MODULES) {
      if (module.name().equals(name)) {
        for (String need : module.needs()) {
          found.add(need);
          found.addAll(reachable(need));
        }
      }
    }
    return found;
  }

  /** So each can be read on a dark page. */
  @Test
  void allDrawnPicturesHaveOneStyle() throws IOException {
    List<Path> pictures;
    try (Stream<Path> files = Files.walk(ROOT.resolve("docs"))) {
      pictures = files.filter(file -> file.toString().endsWith(".svg")).toList();
    }
    assertThat(pictures).hasSizeGreaterThanOrEqualTo(20);
    for (Path picture : pictures) {
      String svg = Files.readString(picture);
      assertThat(svg).as(picture.toString()).contains("<style>\n" + Svg.STYLE + "</style>");
      assertThat(
              COLOUR
                  .matcher(svg)
                  .results()
                  .map(found -> found.group(1))
                  .collect(Collectors.toSet()))
          .as(picture.toString())
          .isSubsetOf(COLOURS);
    }
  }

  /** Of each colour there is one for dark pages. */
  @Test
  void theStyleKnowsEachColour() {
    List<String> missing = new ArrayList<>(COLOURS);
    missing.removeIf(colour -> Svg.STYLE.contains("=\"" + colour + "\"]"));
    assertThat(missing).isEmpty();
  }
}
