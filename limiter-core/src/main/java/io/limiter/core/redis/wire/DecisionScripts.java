// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import io.lettuce.core.codec.Base16;
import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.state.CellAlgorithm;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The scripts of the store, assembled from their parts. Tests put their own clock into copies of
 * them.
 *
 * @param decide decides one call
 * @param batch decides several calls, each by itself; empty if calls always go alone
 * @param hold keeps the duplicate guard of a call while it runs
 * @param refund gives back what a call took
 * @param renew renews the permits of a call while it runs
 * @param algorithms the custom algorithms that the scripts support, in the order of their numbers
 */
public record DecisionScripts(
    RedisScript decide,
    Optional<RedisScript> batch,
    RedisScript hold,
    RedisScript refund,
    RedisScript renew,
    List<CustomAlgorithm> algorithms) {

  private static final String CUSTOM_ALGORITHMS = "--%custom-algorithms";

  /** In a line of its own: the place of a part, which is a file, or a section of one. */
  private static final String PART = "--%";

  /** Before the name of a section of a file, which other parts may include. */
  private static final String BEGIN = "--%begin ";

  private static final String END = "--%end ";

  /** Other names have no capitals, so it need not look at what is before each character. */
  private static final Pattern CONSTANT = Pattern.compile("[A-Z][A-Z_]+\\b");

  /** The scripts without custom algorithms; read once. */
  public static DecisionScripts load() {
    return WithoutCustom.SCRIPTS;
  }

  /**
   * The scripts with these custom algorithms. The text does not depend on their order, so that
   * instances share what Redis has compiled.
   *
   * @throws IllegalArgumentException if two algorithms have one name, or there are too many
   */
  public static DecisionScripts load(List<CustomAlgorithm> own) {
    return own.isEmpty() ? load() : read(own);
  }

  /** Several connections and the store need them while a service starts. */
  private static final class WithoutCustom {
    static final DecisionScripts SCRIPTS = read(List.of());
  }

  private static DecisionScripts read(List<CustomAlgorithm> own) {
    List<CustomAlgorithm> algorithms =
        own.stream().sorted(Comparator.comparing(CustomAlgorithm::name)).toList();
    for (int i = 1; i < algorithms.size(); i++) {
      if (algorithms.get(i).name().equals(algorithms.get(i - 1).name())) {
        throw new IllegalArgumentException(
            "Two algorithms are named '%s': rename one of them"
                .formatted(algorithms.get(i).name()));
      }
    }
    if (algorithms.size() > 64) {
      throw new IllegalArgumentException(
          "%s custom algorithms: use 64 at most".formatted(algorithms.size()));
    }
    Files files = new Files();
    return new DecisionScripts(
        files.decision("decide", algorithms),
        Optional.of(files.decision("decide-batch", algorithms)),
        RedisScript.of(files.script("hold")),
        RedisScript.of(files.script("refund")),
        files.decision("renew", algorithms),
        algorithms);
  }

  /** The algorithms as the branches of an {@code if}. */
  private static String ownBranches(List<CustomAlgorithm> algorithms) {
    StringBuilder branches = new StringBuilder();
    for (int i = 0; i < algorithms.size(); i++) {
      branches.append(
          "%s algorithm == %s then%n-- %s%nevaluate = function(now, cost, count, window, p, state)%n%s%nend%n"
              .formatted(
                  i == 0 ? "if" : "elseif",
                  CellAlgorithm.CUSTOM.number() + i,
                  algorithms.get(i).name(),
                  algorithms.get(i).script()));
    }
    return branches.length() == 0 ? "" : branches + "end\n";
  }

  /**
   * The files of the scripts, each of which is read once. This is their grammar:
   *
   * <ul>
   *   <li>a line {@code --%name} is replaced by that file, {@code --%name.section} by the lines
   *       between {@code --%begin section} and {@code --%end section} of it, each with its own
   *       parts
   *   <li>a name in capitals that {@code constants.lua} or {@link CellAlgorithm} has is replaced by
   *       its number
   *   <li>comments and indentation go
   * </ul>
   *
   * <p>Redis runs the text of a script for each call, so a function is made for each call, too: six
   * parts as functions took 1.8 µs more than the same lines in place, where a decision takes 8
   * (Redis 7.0, {@code INFO commandstats}).
   *
   * <p>They are assembled by lines, since a service starts with this code, and expressions over
   * whole texts took most of its time.
   */
  private static final class Files {
    private final Map<String, String> constants = new HashMap<>();

    /** Lines by the name of a file, or of a file and its section: {@code decide.preamble}. */
    private final Map<String, List<String>> codes = new HashMap<>();

    /** Files and sections with all their parts: several scripts have the same ones. */
    private final Map<String, String> scripts = new HashMap<>();

    Files() {
      for (CellAlgorithm algorithm : CellAlgorithm.values()) {
        constants.put(algorithm.name(), String.valueOf(algorithm.number()));
      }
      for (String line : code("constants")) {
        // Names, and as many numbers: local PAGE, FIRST_READ = 1024, 2048
        int equals = line.indexOf(" = ");
        String[] names = line.substring("local ".length(), equals).split(", ");
        String[] numbers = line.substring(equals + " = ".length()).split(", ");
        for (int i = 0; i < names.length; i++) {
          constants.put(names[i], numbers[i]);
        }
      }
      codes.put("constants", List.of());
    }

    /** A script that decides calls, also by the algorithms of the application. */
    RedisScript decision(String name, List<CustomAlgorithm> algorithms) {
      return RedisScript.of(
          script(name).replace(CUSTOM_ALGORITHMS + '\n', ownBranches(algorithms)));
    }

    /** A file, or a section of one, with its parts and with numbers for the names of constants. */
    String script(String name) {
      String known = scripts.get(name);
      if (known == null) {
        StringBuilder script = new StringBuilder();
        for (String line : codeOf(name)) {
          if (line.startsWith(PART) && !line.equals(CUSTOM_ALGORITHMS)) {
            script.append(script(line.substring(PART.length())));
          } else {
            script.append(line).append('\n');
          }
        }
        known = script.toString();
        scripts.put(name, known);
      }
      return known;
    }

    private List<String> codeOf(String name) {
      String file = name.split("\\.")[0];
      if (!codes.containsKey(file)) {
        read(file);
      }
      List<String> code = codes.get(name);
      if (code == null) {
        throw new IllegalStateException("The scripts have no " + name);
      }
      return code;
    }

    /** Its lines are lines of the file, and of the section that they are in. */
    private void read(String file) {
      List<String> all = new ArrayList<>();
      List<String> section = new ArrayList<>();
      String name = "";
      for (String line : code(file)) {
        if (line.startsWith(BEGIN)) {
          name = line.substring(BEGIN.length());
          section = new ArrayList<>();
          codes.put(file + '.' + name, section);
        } else if (line.equals(END + name)) {
          section = new ArrayList<>();
        } else {
          String numbers = withNumbers(line);
          all.add(numbers);
          section.add(numbers);
        }
      }
      codes.put(file, all);
    }

    private String withNumbers(String line) {
      return CONSTANT
          .matcher(line)
          .replaceAll(word -> constants.getOrDefault(word.group(), word.group()));
    }
  }

  /** The lines of a file without comments and indentation, which Redis does not need. */
  private static List<String> code(String file) {
    List<String> code = new ArrayList<>();
    for (String line : RedisScript.read(file + ".lua").split("\n")) {
      String codeOfLine = codeOfLine(line);
      if (!codeOfLine.isEmpty()) {
        code.add(codeOfLine);
      }
    }
    return code;
  }

  /** No string of the scripts has two hyphens, or more than one line. */
  private static String codeOfLine(String line) {
    int comment = line.indexOf("--");
    boolean hasComment = comment >= 0 && !line.startsWith("--%", comment);
    return (hasComment ? line.substring(0, comment) : line).strip();
  }

  /**
   * A script and its name in Redis.
   *
   * @param text the source
   * @param sha SHA-1 of the source, in lower-case hex
   */
  public record RedisScript(String text, String sha) {

    public static RedisScript of(String text) {
      return new RedisScript(text, Base16.digest(text.getBytes(StandardCharsets.UTF_8)));
    }

    /** Reads a file next to this class. */
    public static String read(String file) {
      try (InputStream source = RedisScript.class.getResourceAsStream(file)) {
        if (source == null) {
          throw new IllegalStateException("The script " + file + " is missing from the class path");
        }
        return new String(source.readAllBytes(), StandardCharsets.UTF_8);
      } catch (IOException e) {
        throw new UncheckedIOException("The script " + file + " cannot be read", e);
      }
    }
  }
}
