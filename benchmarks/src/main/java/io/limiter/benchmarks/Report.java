// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reports results: as Markdown at once, as JSON at the end. */
public final class Report {

  private final PrintStream out;
  private final Map<String, String> about = new LinkedHashMap<>();
  private final List<Table> tables = new ArrayList<>();

  Report(PrintStream out, Options options) {
    this.out = out;
    if (options.quick()) {
      about("note", "--quick: these are not measurements");
    }
    // Reports are published, and a URI may hold a password.
    String arguments = String.join(" ", options.commandLine()).replaceAll("//[^@ ]*@", "//***@");
    about("command", "java -jar benchmarks.jar " + arguments);
    about("date", Instant.now().truncatedTo(ChronoUnit.SECONDS).toString());
    about("limiter", Versions.of("io.limiter", "limiter"));
    Machine.describe().forEach(this::about);
  }

  /** Records once a condition on which the figures depend; the first value is kept. */
  public void about(String name, String value) {
    if (about.putIfAbsent(name, value) == null) {
      out.println("* " + name + ": " + value);
    }
  }

  /** Records the version of a library. */
  public void library(String group, String artifact) {
    about(artifact, Versions.of(group, artifact));
  }

  public void table(Table table) {
    tables.add(table);
    out.print("\n" + table.markdown());
    out.flush();
  }

  /** Prints one line of progress; not a part of the report. */
  public void progress(String line) {
    System.err.println(line);
  }

  void writeJson(Path file) throws IOException {
    Map<String, Object> all = new LinkedHashMap<>();
    all.put("about", about);
    all.put("tables", tables.stream().map(Table::json).toList());
    new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT).writeValue(file.toFile(), all);
  }
}
