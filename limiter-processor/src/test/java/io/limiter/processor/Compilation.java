// SPDX-License-Identifier: Apache-2.0
package io.limiter.processor;

import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.IThrowableProxy;
import ch.qos.logback.core.read.ListAppender;
import io.micronaut.annotation.processing.AggregatingTypeElementVisitorProcessor;
import io.micronaut.annotation.processing.BeanDefinitionInjectProcessor;
import io.micronaut.annotation.processing.TypeElementVisitorProcessor;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.DefaultBeanContext;
import io.micronaut.context.exceptions.ConfigurationException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Stream;
import javax.annotation.processing.Processor;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler.CompilationTask;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.slf4j.LoggerFactory;

/** Compiles sources as an application does, with Micronaut's processors and that of the limiter. */
final class Compilation {

  /** What Micronaut 5 itself reports of a limit on a static method. */
  static final String STATIC_ON_5 = "Method defines AOP advice but is declared static";

  private static final String IMPORTS =
      """
      package compiled;
      import io.limiter.core.Verdict;
      import io.limiter.core.rule.CalendarPeriod;
      import io.limiter.micronaut.annotation.*;
      import io.micronaut.context.annotation.*;
      import io.micronaut.core.annotation.Introspected;
      import io.micronaut.http.*;
      import io.micronaut.http.annotation.*;
      import io.micronaut.scheduling.annotation.Scheduled;
      import jakarta.inject.Singleton;
      import java.lang.annotation.*;
      import java.util.*;
      import java.util.concurrent.*;
      """;

  private final List<Found> found;
  private final Path output;

  private Compilation(List<Found> found, Path output) {
    this.found = found;
    this.output = output;
  }

  /**
   * What the compiler reported.
   *
   * @param line the text of the line that it is about
   */
  record Found(Diagnostic.Kind kind, String line, String message) {}

  /**
   * Compiles with the limiter's processor.
   *
   * @param source without its package and imports
   */
  static Compilation of(Path output, String source, String... options) {
    return compiled(output, source, processors(), options);
  }

  /** Compiles without it. */
  static Compilation without(Path output, String source) {
    return compiled(output, source, List.of(new BeanDefinitionInjectProcessor()));
  }

  private static Compilation compiled(
      Path output, String source, List<Processor> processors, String... options) {
    return compiled(output, List.of(new Source(IMPORTS + source)), processors, options);
  }

  /** Compiles source files with the limiter's processor. */
  static Compilation ofFiles(Path output, List<Path> files) throws IOException {
    List<Source> sources = new ArrayList<>();
    for (Path file : files) {
      sources.add(new Source(file.getFileName().toString(), Files.readString(file)));
    }
    return compiled(output, sources, processors());
  }

  private static List<Processor> processors() {
    return List.of(
        new TypeElementVisitorProcessor(),
        new AggregatingTypeElementVisitorProcessor(),
        new BeanDefinitionInjectProcessor());
  }

  private static Compilation compiled(
      Path output, List<Source> sources, List<Processor> processors, String... options) {
    DiagnosticCollector<JavaFileObject> diagnostics = new DiagnosticCollector<>();
    List<String> all =
        new ArrayList<>(
            List.of(
                "-parameters",
                "-classpath",
                System.getProperty("java.class.path"),
                "-d",
                output.toString()));
    all.addAll(List.of(options));
    CompilationTask task =
        ToolProvider.getSystemJavaCompiler().getTask(null, null, diagnostics, all, null, sources);
    task.setProcessors(processors);
    task.call();
    return new Compilation(
        diagnostics.getDiagnostics().stream()
            .map(
                each ->
                    new Found(
                        each.getKind(),
                        each.getSource() instanceof Source source && each.getLineNumber() > 0
                            ? source.line(each.getLineNumber())
                            : "",
                        each.getMessage(null)))
            .toList(),
        output);
  }

  List<Found> errors() {
    return found.stream().filter(each -> each.kind() == Diagnostic.Kind.ERROR).toList();
  }

  /** The warnings of the limiter; the compiler has some of its own about the test's options. */
  List<Found> warnings() {
    return found.stream()
        .filter(each -> each.message().startsWith("compiled."))
        .filter(each -> each.kind() != Diagnostic.Kind.ERROR)
        .toList();
  }

  /** What stops the start of an application with these classes; fails if nothing does. */
  String mistakeAtStart() {
    return mistake(
        context -> {
          throw new AssertionError("It starts");
        });
  }

  /** The same where Micronaut processes a method on another thread, whose failure it logs. */
  String mistakeBesideStart() {
    ListAppender<ILoggingEvent> log = new ListAppender<>();
    log.start();
    Logger logger = (Logger) LoggerFactory.getLogger(DefaultBeanContext.class);
    logger.addAppender(log);
    try {
      return mistake(
          context -> {
            await().until(() -> !context.isRunning());
            return log.list.stream()
                .flatMap(event -> Stream.ofNullable(event.getThrowableProxy()))
                .filter(
                    thrown -> thrown.getClassName().equals(ConfigurationException.class.getName()))
                .map(IThrowableProxy::getMessage)
                .findFirst()
                .orElseThrow();
          });
    } finally {
      logger.detachAppender(log);
    }
  }

  /** Starts an application with these classes. */
  <T> T start(Function<ApplicationContext, T> use) {
    try (URLClassLoader loader =
            new URLClassLoader(new URL[] {output.toUri().toURL()}, getClass().getClassLoader());
        ApplicationContext context =
            ApplicationContext.builder()
                .classLoader(loader)
                .properties(Map.of("micronaut.server.port", -1))
                .build()
                .start()) {
      return use.apply(context);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private String mistake(Function<ApplicationContext, String> ifItStarts) {
    try {
      return start(ifItStarts);
    } catch (RuntimeException e) {
      for (Throwable cause = e; cause != null; cause = cause.getCause()) {
        if (cause instanceof ConfigurationException) {
          return cause.getMessage();
        }
      }
      throw e;
    }
  }

  private static final class Source extends SimpleJavaFileObject {

    private final String text;

    Source(String text) {
      this("compiled/Source.java", text);
    }

    Source(String path, String text) {
      super(URI.create("string:///" + path), Kind.SOURCE);
      this.text = text;
    }

    String line(long number) {
      return text.lines().toList().get((int) number - 1).strip();
    }

    @Override
    public CharSequence getCharContent(boolean ignoreEncodingErrors) {
      return text;
    }
  }
}
