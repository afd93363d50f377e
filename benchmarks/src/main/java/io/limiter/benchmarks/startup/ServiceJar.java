// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.startup;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.limiter.benchmarks.UsageException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Enumeration;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;

/**
 * A jar with the libraries of a packed program and one of the services beside this class: with the
 * limiter, or without any trace of it.
 */
final class ServiceJar {

  private static final String OURS = "io/limiter/";
  private static final String SERVICES = "io/limiter/benchmarks/startup/";

  /** What the packed programs have of their own: neither the limiter nor these services. */
  private static final Pattern PROGRAMS =
      Pattern.compile("io/limiter/(benchmarks|demo)/.*|application\\.yml");

  /** Where a class is registered: a file named by it, or a line of a file. */
  private static final Pattern REGISTERED =
      Pattern.compile("META-INF/(?:micronaut|services)/[^/]+/(.+)");

  private static final Pattern LISTS = Pattern.compile("META-INF/services/[^/]+");

  private ServiceJar() {}

  /**
   * Writes one.
   *
   * @param packed a jar with all of its libraries
   * @param limiter the entries of the limiter that it has, by name, such as {@code
   *     io/limiter/core/Rule.class}
   */
  static Path write(Path packed, Predicate<String> limiter) throws IOException {
    Path jar = Files.createTempFile("service-", ".jar");
    jar.toFile().deleteOnExit();
    Predicate<String> libraries =
        name -> !PROGRAMS.matcher(name).matches() && (!name.startsWith(OURS) || limiter.test(name));
    try (ZipOutputStream into = new ZipOutputStream(Files.newOutputStream(jar))) {
      copy(packed, libraries, into);
      copy(self(), name -> name.startsWith(SERVICES), into);
    }
    return jar;
  }

  /** This program. */
  static Path self() {
    Path self = Path.of(System.getProperty("java.class.path"));
    if (!Files.isRegularFile(self)) {
      throw new UsageException(
          "The class path is %s, from which no service can be made: run the packed jar, with java"
                  .formatted(self)
              + " -jar benchmarks/target/benchmarks.jar");
    }
    return self;
  }

  private static void copy(Path from, Predicate<String> kept, ZipOutputStream into)
      throws IOException {
    try (ZipFile jar = new ZipFile(from.toFile())) {
      for (Enumeration<? extends ZipEntry> all = jar.entries(); all.hasMoreElements(); ) {
        ZipEntry entry = all.nextElement();
        // Directories too: Micronaut finds its beans by listing one.
        if (kept.test(subject(entry.getName()))) {
          into.putNextEntry(new ZipEntry(entry.getName()));
          byte[] content = jar.getInputStream(entry).readAllBytes();
          into.write(LISTS.matcher(entry.getName()).matches() ? lines(content, kept) : content);
          into.closeEntry();
        }
      }
    }
  }

  /** What an entry is about: the class that it registers, or itself. */
  private static String subject(String entry) {
    var registered = REGISTERED.matcher(entry);
    return registered.matches() ? registered.group(1).replace('.', '/') : entry;
  }

  private static byte[] lines(byte[] list, Predicate<String> kept) {
    return new String(list, UTF_8)
        .lines()
        .filter(line -> kept.test(line.replace('.', '/')))
        .collect(Collectors.joining("\n", "", "\n"))
        .getBytes(UTF_8);
  }
}
