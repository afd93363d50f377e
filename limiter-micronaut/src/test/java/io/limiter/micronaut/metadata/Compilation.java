// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.micronaut.annotation.processing.AggregatingTypeElementVisitorProcessor;
import io.micronaut.annotation.processing.BeanDefinitionInjectProcessor;
import io.micronaut.annotation.processing.TypeElementVisitorProcessor;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import javax.annotation.processing.Processor;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler.CompilationTask;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/** Compiles a source by itself, with the class path of the tests. */
final class Compilation {

  private Compilation() {}

  /** The errors of a compilation with Micronaut's processors. */
  static List<String> withMicronaut(String path, String source, Path output) {
    return errors(
        path,
        source,
        output,
        List.of(
            new TypeElementVisitorProcessor(),
            new AggregatingTypeElementVisitorProcessor(),
            new BeanDefinitionInjectProcessor()));
  }

  static List<String> errors(
      String path, String source, Path output, List<? extends Processor> processors) {
    DiagnosticCollector<JavaFileObject> diagnostics = new DiagnosticCollector<>();
    CompilationTask task =
        ToolProvider.getSystemJavaCompiler()
            .getTask(
                null,
                null,
                diagnostics,
                List.of(
                    "-parameters",
                    "-classpath",
                    System.getProperty("java.class.path"),
                    "-d",
                    output.toString()),
                null,
                List.of(
                    new SimpleJavaFileObject(
                        URI.create("string:///" + path), JavaFileObject.Kind.SOURCE) {
                      @Override
                      public CharSequence getCharContent(boolean ignoreEncodingErrors) {
                        return source;
                      }
                    }));
    task.setProcessors(processors);
    boolean compiled = task.call();
    List<String> errors =
        diagnostics.getDiagnostics().stream()
            .filter(diagnostic -> diagnostic.getKind() == Diagnostic.Kind.ERROR)
            .flatMap(diagnostic -> Stream.ofNullable(diagnostic.getMessage(null)))
            .toList();
    if (compiled != errors.isEmpty()) {
      throw new AssertionError("The compiler names no error for its failure, or the other way");
    }
    return errors;
  }
}
