// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import io.lettuce.core.codec.Base16;
import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.state.CellAlgorithm;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The scripts of the store, assembled from their parts. Tests put their own clock into copies of
 * them.
 *
 * @param decide decides one call
 * @param batch decides several calls, each by itself; empty if calls always go alone
 * @param submit claims a submission, and decides its call
 * @param claims keeps a claim, an answer, or the duplicate guard of a call while it runs
 * @param refund gives back what a call took
 * @param renew renews the permits of a call while it runs
 * @param algorithms the custom algorithms that the scripts support, in the order of their numbers
 */
public record DecisionScripts(
    RedisScript decide,
    Optional<RedisScript> batch,
    RedisScript submit,
    RedisScript claims,
    RedisScript refund,
    RedisScript renew,
    List<CustomAlgorithm> algorithms) {

  private static final String CUSTOM_ALGORITHMS = "--%custom-algorithms\n";

  /** The place of a part in a script: a file, or a section of one. */
  private static final Pattern PART =
      Pattern.compile("--%(?!custom-algorithms)([a-z-]+(?:\\.[a-z-]+)?)\n");

  /** A section of a file, which other parts may include. */
  private static final Pattern SECTION =
      Pattern.compile("--%begin ([a-z-]+)\n(.*?)--%end \\1\n", Pattern.DOTALL);

  /** A line of constants.lua: names, and as many numbers. */
  private static final Pattern CONSTANTS = Pattern.compile("local ([A-Z_, ]+) = ([0-9, ]+)\n");

  private static final Pattern CONSTANT = Pattern.compile("\\b[A-Z][A-Z_]+\\b");

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

  /** A script of another file, with numbers for the names of constants. */
  public static RedisScript read(String file) {
    return RedisScript.of(new Files().script(file.replace(".lua", "")));
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
        files.decision("submit", algorithms),
        RedisScript.of(files.script("idempotency")),
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

  /** The files of the scripts, each of which is read once. */
  private static final class Files {
    private final Map<String, String> constants = new HashMap<>();

    /** By the name of a file, or of a file and its section: {@code decide.preamble}. */
    private final Map<String, String> codes = new HashMap<>();

    /** Files and sections with all their parts: several scripts have the same ones. */
    private final Map<String, String> scripts = new HashMap<>();

    Files() {
      for (CellAlgorithm algorithm : CellAlgorithm.values()) {
        constants.put(algorithm.name(), String.valueOf(algorithm.number()));
      }
      Matcher line = CONSTANTS.matcher(code(RedisScript.read("constants.lua")));
      while (line.find()) {
        String[] names = line.group(1).split(", ");
        String[] numbers = line.group(2).split(", ");
        for (int i = 0; i < names.length; i++) {
          constants.put(names[i], numbers[i]);
        }
      }
      codes.put("constants", "");
    }

    /** A script that decides calls, also by the algorithms of the application. */
    RedisScript decision(String name, List<CustomAlgorithm> algorithms) {
      return RedisScript.of(script(name).replace(CUSTOM_ALGORITHMS, ownBranches(algorithms)));
    }

    /** A file, or a section of one, with its parts and with numbers for the names of constants. */
    String script(String name) {
      String known = scripts.get(name);
      if (known == null) {
        known =
            PART.matcher(codeOf(name))
                .replaceAll(part -> Matcher.quoteReplacement(script(part.group(1))));
        scripts.put(name, known);
      }
      return known;
    }

    private String codeOf(String name) {
      String file = name.replaceFirst("\\..*", "");
      if (!codes.containsKey(file)) {
        String code =
            CONSTANT
                .matcher(code(RedisScript.read(file + ".lua")))
                .replaceAll(word -> constants.getOrDefault(word.group(), word.group()));
        Matcher section = SECTION.matcher(code);
        while (section.find()) {
          codes.put(file + "." + section.group(1), section.group(2));
        }
        codes.put(file, section.replaceAll("$2"));
      }
      String code = codes.get(name);
      if (code == null) {
        throw new IllegalStateException("The scripts have no " + name);
      }
      return code;
    }
  }

  /** A file without comments and indentation, which Redis does not need. */
  private static String code(String source) {
    StringBuilder code = new StringBuilder(source.length());
    source
        .lines()
        .map(DecisionScripts::codeOfLine)
        .filter(line -> !line.isEmpty())
        .forEach(line -> code.append(line).append('\n'));
    return code.toString();
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
