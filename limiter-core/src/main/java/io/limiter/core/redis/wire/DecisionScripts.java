// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import io.limiter.core.rule.CustomAlgorithm;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The scripts of the store, assembled from their parts. Tests put their own clock into copies of
 * them.
 *
 * @param decide decides one call
 * @param refund gives back what a call took
 * @param renew extends what a call holds while it runs
 * @param algorithms the custom algorithms that the scripts support, in the order of their numbers
 */
public record DecisionScripts(
    RedisScript decide, RedisScript refund, RedisScript renew, List<CustomAlgorithm> algorithms) {

  private static final String ALGORITHMS = "--%algorithms\n";

  /** The place of a part in a script, with the name of its file. */
  private static final Pattern PART = Pattern.compile("--%(?!algorithms)([a-z-]+)\n");

  public DecisionScripts(RedisScript decide, RedisScript refund) {
    this(decide, refund, RedisScript.of(assembled("renew.lua", new HashMap<>())), List.of());
  }

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
            "Two algorithms are named '%s': give one of them another name"
                .formatted(algorithms.get(i).name()));
      }
    }
    if (algorithms.size() > 64) {
      throw new IllegalArgumentException(
          "%d custom algorithms: give it 64 at most".formatted(algorithms.size()));
    }
    StringBuilder branches = new StringBuilder();
    for (int i = 0; i < algorithms.size(); i++) {
      branches.append(
          "%s algorithm == %d then%n-- %s%nevaluate = function(now, cost, count, window, p, state)%n%s%nend%n"
              .formatted(
                  i == 0 ? "if" : "elseif",
                  CellCode.CUSTOM + i,
                  algorithms.get(i).name(),
                  algorithms.get(i).script()));
    }
    String ownBranches = branches.length() == 0 ? "" : branches + "end\n";
    Map<String, String> parts = new HashMap<>();
    return new DecisionScripts(
        RedisScript.of(assembled("decide.lua", parts).replace(ALGORITHMS, ownBranches)),
        RedisScript.of(assembled("refund.lua", parts)),
        RedisScript.of(assembled("renew.lua", parts)),
        algorithms);
  }

  /**
   * A file with the parts that it includes.
   *
   * @param parts the files that were read before
   */
  private static String assembled(String file, Map<String, String> parts) {
    String known = parts.get(file);
    if (known != null) {
      return known;
    }
    String text =
        PART.matcher(code(RedisScript.read(file)))
            .replaceAll(part -> Matcher.quoteReplacement(assembled(part.group(1) + ".lua", parts)));
    parts.put(file, text);
    return text;
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
}
