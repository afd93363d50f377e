// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import io.limiter.core.rule.CustomAlgorithm;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The scripts of the store. Tests replace the clock in copies of them.
 *
 * @param decide decides one call
 * @param refund gives back what a call took
 * @param renew renews the concurrency permits of a call
 * @param algorithms the custom algorithms in the scripts, in the order of their numbers
 */
public record DecisionScripts(
    RedisScript decide, RedisScript refund, RedisScript renew, List<CustomAlgorithm> algorithms) {

  private static final String ALGORITHMS = "--%algorithms\n";

  /** The place of a part in a script, by the name of its file. */
  private static final Pattern PART = Pattern.compile("--%(?!algorithms)([a-z]+)\n");

  public DecisionScripts(RedisScript decide, RedisScript refund) {
    this(decide, refund, RedisScript.of(assemble("renew.lua")), List.of());
  }

  /** The scripts without custom algorithms; read once. */
  public static DecisionScripts load() {
    return WithoutOwn.SCRIPTS;
  }

  /**
   * The scripts with these algorithms. The text does not depend on their order, so that instances
   * share what Redis has compiled.
   *
   * @throws IllegalArgumentException if two algorithms have one name, or there are too many
   */
  public static DecisionScripts load(List<CustomAlgorithm> own) {
    return own.isEmpty() ? load() : read(own);
  }

  /** Loaded lazily and once: several connections and the store use it while a service starts. */
  private static final class WithoutOwn {
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
          "%s algorithm == %d then%n-- %s%nread = function(now, cost, count, window, p, state)%n%s%nend%n"
              .formatted(
                  i == 0 ? "if" : "elseif",
                  CellCode.CUSTOM + i,
                  algorithms.get(i).name(),
                  algorithms.get(i).script()));
    }
    String ownBranches = branches.length() == 0 ? "" : branches + "end\n";
    return new DecisionScripts(
        RedisScript.of(assemble("decide.lua").replace(ALGORITHMS, ownBranches)),
        RedisScript.of(assemble("refund.lua")),
        RedisScript.of(assemble("renew.lua")),
        algorithms);
  }

  /** Assembles a script from its parts, each of which is a file of its own. */
  private static String assemble(String file) {
    return PART.matcher(RedisScript.read(file))
        .replaceAll(part -> Matcher.quoteReplacement(assemble(part.group(1) + ".lua")));
  }
}
