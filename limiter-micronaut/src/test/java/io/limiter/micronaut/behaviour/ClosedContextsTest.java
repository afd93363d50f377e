// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.limiter.micronaut.http.LimitDeniedHandler;
import io.limiter.micronaut.http.RateLimitFields;
import io.limiter.micronaut.testing.HttpService;
import io.micronaut.context.ApplicationContext;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.hateoas.JsonError;
import io.micronaut.inject.BeanDefinition;
import io.micronaut.inject.BeanDefinitionReference;
import io.micronaut.runtime.server.EmbeddedServer;
import java.lang.ProcessBuilder.Redirect;
import java.lang.ref.WeakReference;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Applications in one process, one after another, as tests start them. Micronaut keeps two kinds of
 * them itself: the last one of each class, in static fields of bean definitions; and each, where
 * the annotation of a bean has a placeholder and the bean has methods that Micronaut calls. Two of
 * Micronaut's own filters are such beans, so they are off here: of the health endpoint and of
 * metrics.
 */
class ClosedContextsTest {

  private static final int MANY = 6;

  private static final int STAY = 3;

  private static ApplicationContext open() {
    ApplicationContext context =
        ApplicationContext.builder(
                Map.of(
                    "spec.name",
                    AlgorithmRoutes.SPEC,
                    "micronaut.server.port",
                    -1,
                    "endpoints.health.enabled",
                    false,
                    "micronaut.metrics.enabled",
                    false))
            .start();
    HttpService service = HttpService.of(context.getBean(EmbeddedServer.class).start());
    assertThat(service.status("/algorithms/log")).isEqualTo(200);
    return context;
  }

  /**
   * In a process of its own, since classes of beans remember the last context that has used them.
   * On a slow machine not each context uses each class before it is closed, so a few may stay.
   */
  static final class Applications {

    private Applications() {}

    private static WeakReference<ApplicationContext> closed() {
      ApplicationContext context = open();
      context.close();
      return new WeakReference<>(context);
    }

    /** Prints how many of the closed contexts are still in memory. */
    public static void main(String[] arguments) throws InterruptedException {
      List<WeakReference<ApplicationContext>> contexts = new ArrayList<>();
      for (int i = 0; i < MANY; i++) {
        contexts.add(closed());
      }
      for (int i = 0; i < 300 && contexts.size() > STAY; i++) {
        System.gc();
        contexts.removeIf(each -> each.refersTo(null));
        Thread.sleep(50);
      }
      System.out.println("left: " + contexts.size());
      System.exit(0);
    }
  }

  @Test
  @Tag("matrix") // on a slow machine it takes minutes
  void theyDoNotStayInMemory() throws Exception {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-Xmx256m",
                "-cp",
                System.getProperty("java.class.path"),
                Applications.class.getName())
            .redirectError(Redirect.INHERIT)
            .start();
    try {
      String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertThat(process.waitFor(10, TimeUnit.SECONDS)).isTrue();
      assertThat(printed).containsPattern("left: [0-" + STAY + "]\\b");
    } finally {
      process.destroyForcibly();
    }
  }

  /** One that waits, or inspects beans, would keep the context. */
  @Test
  void noThreadGoesOn() {
    Set<Thread> before = new HashSet<>(Thread.getAllStackTraces().keySet());
    open().close();
    await()
        .atMost(Duration.ofSeconds(2)) // the check after the start waits for three
        .untilAsserted(
            () ->
                assertThat(Thread.getAllStackTraces().keySet())
                    .filteredOn(thread -> !before.contains(thread))
                    .extracting(Thread::getName)
                    .noneMatch(name -> name.startsWith("limiter")));
  }

  @Test
  void noBeanWithMethodsHasAPlaceholderInItsAnnotations() {
    URL ours = sources(RateLimitFields.class);
    try (ApplicationContext context = open()) {
      List<String> placeholders = new ArrayList<>();
      for (BeanDefinitionReference<?> reference : context.getBeanDefinitionReferences()) {
        if (reference.getClass().getName().startsWith("io.limiter.")
            && ours.equals(sources(reference.getClass()))
            && reference.isPresent()) {
          BeanDefinition<?> bean = reference.load(context);
          bean.getExecutableMethods().stream()
              .filter(method -> method.getAnnotationMetadata().hasPropertyExpressions())
              .forEach(method -> placeholders.add(method.toString()));
        }
      }
      assertThat(placeholders).isEmpty();
    }
  }

  private static URL sources(Class<?> type) {
    return type.getProtectionDomain().getCodeSource().getLocation();
  }

  /** Requests of a service that shuts down may be denied once its context has no beans. */
  @Test
  void denialsHaveABodyAfterTheContextIsClosed() {
    LimitDeniedHandler handler;
    try (HttpService stopped = HttpService.start("ClosedContextsTest", Map.of())) {
      handler = stopped.bean(LimitDeniedHandler.class);
    }
    Rule rule = SlidingWindowLogRule.of(1, Duration.ofSeconds(1));
    Verdict denial =
        Verdict.of(Policy.of("late", rule), Outcome.LIMITED)
            .rules(List.of(RuleVerdict.of(rule).violatedFor(Duration.ofSeconds(1)).build()))
            .build();

    MutableHttpResponse<?> response =
        handler.handle(HttpRequest.GET("/late"), LimitDeniedException.of(denial, DenialText.NONE));

    assertThat(response.code()).isEqualTo(429);
    assertThat(response.body()).isInstanceOf(JsonError.class);
  }
}
