// SPDX-License-Identifier: Apache-2.0
package io.limiter.processor;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.definition.Refusals;
import io.limiter.micronaut.plan.PlanRegistry;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.inject.BeanDefinition;
import io.micronaut.inject.BeanDefinitionReference;
import io.micronaut.inject.ExecutableMethod;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * What stops the start, and is reported by the compiler in the same words: each mistake of {@code
 * mistakes.txt}, with its whole message. Settings could correct some, which are warnings.
 */
class MistakesTableTest {

  /** Precedes what depends on beans or settings, which are not known at compile time. */
  private static final String ONLY_AT_THE_START = "# Only at the start";

  /** The beans and types that the mistakes name. */
  private static final String TYPES =
      """
      import io.limiter.core.rule.CustomAlgorithm;
      import io.limiter.core.rule.CustomRule;

      abstract class NoCost implements ResultCost {}

      @Singleton
      class Units implements ResultCost {
        public long of(Object result) { return 1; }
      }

      @Singleton
      class Others implements ResultCost {
        public long of(Object result) { return 1; }
      }

      abstract class NoResolver implements SubjectResolver {}

      abstract class Tenant implements SubjectResolver {
        public Optional<String> resolve(HttpRequest<?> request) { return Optional.empty(); }
      }

      @Singleton class OneTenant extends Tenant {}

      @Singleton class OtherTenant extends Tenant {}

      class Missing extends AdmitsAll {}

      @Singleton class Quiet extends AdmitsAll {}

      @Prototype class Unshared extends AdmitsAll {}

      @Singleton
      class Loud extends AdmitsAll {
        public String name() { return "My Algorithm!"; }
      }

      abstract class AdmitsAll implements CustomAlgorithm {
        public String name() { return "all"; }
        public int stateSize() { return 1; }
        public Evaluation read(double now, double cost, CustomRule rule, double[] state) {
          return new Evaluation(rule.count(), 0, 0, new double[1]);
        }
        public String script() { return "return count, {0}"; }
      }

      @Introspected record Upload(String name, List<Part> parts) {}

      @Introspected record Part(Upload of, java.io.InputStream content) {}

      class Unknown {
        public String getItem() { return "tea"; }
      }

      @Retention(RetentionPolicy.RUNTIME)
      @RateLimiter(rules = @RateRule(count = 1))
      @interface Once {}

      """;

  @TempDir private static Path output;

  private static final Map<String, List<String>> COMPILED = new HashMap<>();
  private static final Map<String, String> STARTED = new HashMap<>();

  /**
   * A mistake.
   *
   * @param type the class that has it
   * @param method the method {@code call}, and others that are planned before it
   * @param message without the method
   * @param compiled whether the compiler reports it
   */
  record Mistake(String type, String method, String message, boolean compiled) {

    @Override
    public String toString() {
      return method;
    }
  }

  static List<Mistake> mistakes() throws IOException {
    List<Mistake> all = new ArrayList<>();
    try (InputStream table = MistakesTableTest.class.getResourceAsStream("/mistakes.txt")) {
      boolean compiled = true;
      String method = "";
      for (String line : new String(table.readAllBytes(), UTF_8).lines().toList()) {
        if (line.startsWith("  ")) {
          all.add(new Mistake("M" + all.size(), method, line.strip(), compiled));
        }
        compiled &= !line.startsWith(ONLY_AT_THE_START);
        method = line;
      }
    }
    return all;
  }

  /** A row that no mistake shows may be wrong, or of no use. */
  @Test
  void eachRefusalIsShown() throws IOException {
    List<String> messages = mistakes().stream().map(Mistake::message).toList();
    assertThat(Refusals.remedies().map(remedy -> remedy.replace("%s", "")))
        .filteredOn(remedy -> messages.stream().noneMatch(message -> message.endsWith(remedy)))
        .as("those that only settings can have")
        .containsExactly("a rule on trial is only observed: remove it");
  }

  @BeforeAll
  static void compile() throws IOException {
    List<Mistake> mistakes = mistakes();
    StringBuilder source = new StringBuilder(TYPES);
    for (Mistake mistake : mistakes) {
      source.append(
          "@Singleton @Requires(property = \"never\") class %s {\n%s\n}\n"
              .formatted(mistake.type(), mistake.method()));
    }
    Path checked = Files.createDirectory(output.resolve("checked"));
    Compilation compiled =
        Compilation.of(checked, source.toString(), "-Xmaxerrs", "1000", "-Xmaxwarns", "1000");
    Stream.of(compiled.errors(), compiled.warnings())
        .flatMap(List::stream)
        .forEach(
            found ->
                COMPILED
                    .computeIfAbsent(found.line(), any -> new ArrayList<>())
                    .add(found.message()));
    Path plain = Files.createDirectory(output.resolve("plain"));
    Compilation.without(plain, source.toString())
        .start(
            context -> {
              for (Mistake mistake : mistakes) {
                STARTED.put(mistake.method(), atStart(context, mistake.type()));
              }
              return context;
            });
  }

  /** Plans the methods of a bean that the context has not, as it would plan them at the start. */
  private static String atStart(ApplicationContext context, String type) {
    PlanRegistry plans = context.getBean(PlanRegistry.class);
    List<ExecutableMethod<?, ?>> methods = new ArrayList<>();
    for (ExecutableMethod<?, ?> method : definition(context, type).getExecutableMethods()) {
      methods.add(method.getMethodName().equals("call") ? methods.size() : 0, method);
    }
    try {
      methods.forEach(plans::of);
    } catch (ConfigurationException mistake) {
      return String.valueOf(mistake.getMessage());
    }
    return "It starts";
  }

  private static BeanDefinition<?> definition(ApplicationContext context, String type) {
    try {
      return ((BeanDefinitionReference<?>)
              Class.forName(
                      "compiled.$%s$Definition".formatted(type), true, context.getClassLoader())
                  .getConstructor()
                  .newInstance())
          .load(context);
    } catch (ReflectiveOperationException e) {
      throw new AssertionError(e);
    }
  }

  @ParameterizedTest
  @MethodSource("mistakes")
  void theErrorIsThatOfTheStart(Mistake mistake) {
    String message = STARTED.get(mistake.method());
    String bean = "compiled.%s.".formatted(mistake.type());
    assertThat(message).startsWith(bean + "call(");
    assertThat(message.substring(message.indexOf("): ") + 3).replace(bean, ""))
        .isEqualTo(mistake.message());
    assertThat(COMPILED.getOrDefault(mistake.method(), List.of()).contains(message))
        .isEqualTo(mistake.compiled());
  }
}
