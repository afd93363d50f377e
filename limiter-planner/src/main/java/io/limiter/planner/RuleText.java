// SPDX-License-Identifier: Apache-2.0
package io.limiter.planner;

import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.rule.TokenBucketRule;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.ZoneId;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Rules as text: {@code 60/1m}, {@code 60/1m:sliding-window-counter}, {@code 1000/1d:fixed-window},
 * {@code 1000/1d:fixed-window,zone=Europe/Berlin} for days of a time zone, {@code
 * 20/1s:token-bucket,refill=5}, {@code 2/1s:leaky-bucket,queue=10,max-wait=5s}.
 */
public final class RuleText {

  private static final Pattern TIME = Pattern.compile("(\\d{1,12})\\s*(ms|s|m|h|d)");
  private static final Pattern RULE =
      Pattern.compile("\\s*(\\d{1,15})\\s*/\\s*(\\d{1,12}\\s*(?:ms|s|m|h|d))\\s*(?::(.*))?");
  private static final Pattern BAN =
      Pattern.compile(
          "\\s*(\\d{1,9})\\s*/\\s*(\\d{1,12}\\s*(?:ms|s|m|h|d))\\s*/\\s*(\\d{1,12}\\s*(?:ms|s|m|h|d))\\s*");

  private RuleText() {}

  /**
   * Reads a rule.
   *
   * @throws IllegalArgumentException with the text and the remedy, if it is none
   */
  public static Rule parse(String text) {
    Matcher parts = RULE.matcher(text);
    if (!parts.matches()) {
      throw new IllegalArgumentException(
          "The rule '%s' cannot be read: use COUNT/TIME or COUNT/TIME:ALGORITHM, such as 60/1m or 20/1s:token-bucket,refill=5"
              .formatted(text));
    }
    long count = Long.parseLong(parts.group(1));
    Duration time = time(parts.group(2));
    String algorithm = parts.group(3) == null ? "sliding-window-log" : parts.group(3).trim();
    String[] words = algorithm.split(",");
    Map<String, String> options = new HashMap<>();
    for (int w = 1; w < words.length; w++) {
      int equals = words[w].indexOf('=');
      if (equals < 0) {
        throw new IllegalArgumentException(
            "The option '%s' of the rule '%s' has no value: use NAME=VALUE"
                .formatted(words[w], text));
      }
      String option = words[w].substring(0, equals).trim();
      if (options.put(option, words[w].substring(equals + 1).trim()) != null) {
        throw new IllegalArgumentException(
            "The rule '%s' has the option '%s' twice: remove one".formatted(text, option));
      }
    }
    Rule rule = rule(text, words[0].toLowerCase(Locale.ROOT).trim(), count, time, options);
    if (!options.isEmpty()) {
      throw new IllegalArgumentException(
          "The option '%s' of the rule '%s' is unknown: use refill of a token-bucket, queue and max-wait of a leaky-bucket, zone of a fixed-window"
              .formatted(options.keySet().iterator().next(), text));
    }
    return rule;
  }

  private static Rule rule(
      String text, String algorithm, long count, Duration time, Map<String, String> options) {
    return switch (algorithm) {
      case "sliding-window-log", "log" -> SlidingWindowLogRule.of(count, time);
      case "sliding-window-counter", "counter" -> SlidingWindowCounterRule.of(count, time);
      case "fixed-window" -> {
        String zone = options.remove("zone");
        yield zone == null
            ? FixedWindowRule.of(count, time)
            : FixedWindowRule.aligned(count, time, zone(text, zone));
      }
      case "token-bucket" -> {
        String refill = options.remove("refill");
        yield TokenBucketRule.of(count, refill == null ? count : number(text, refill), time);
      }
      case "leaky-bucket" -> {
        String queue = options.remove("queue");
        String wait = options.remove("max-wait");
        if (queue == null) {
          throw new IllegalArgumentException(
              "The rule '%s' has no queue: add queue=10, or use a token-bucket".formatted(text));
        }
        int places = (int) Math.min(Integer.MAX_VALUE, number(text, queue));
        // As in the annotation: the time that the last call in the queue waits.
        Duration one = time.compareTo(Rule.MAX_WINDOW) > 0 ? Duration.ZERO : time; // is rejected
        Duration all = one.multipliedBy(places).dividedBy(Math.max(1, count)).plusNanos(999);
        yield LeakyBucketRule.of(
            count,
            time,
            places,
            wait == null ? all.minusNanos(all.toNanosPart() % 1_000) : time(wait));
      }
      default ->
          throw new IllegalArgumentException(
              "The rule '%s' has the unknown algorithm '%s': use sliding-window-log, sliding-window-counter, fixed-window, token-bucket or leaky-bucket"
                  .formatted(text, algorithm));
    };
  }

  private static long number(String text, String value) {
    if (!value.matches("\\d{1,15}")) {
      throw new IllegalArgumentException(
          "The rule '%s' has the number '%s': use digits".formatted(text, value));
    }
    return Long.parseLong(value);
  }

  private static ZoneId zone(String text, String value) {
    try {
      return ZoneId.of(value);
    } catch (DateTimeException unknown) {
      throw new IllegalArgumentException(
          "The rule '%s' has the unknown zone '%s': use one such as Europe/Berlin or UTC"
              .formatted(text, value),
          unknown);
    }
  }

  /**
   * Reads a ban: denied calls, within a time, and its duration, such as {@code 5/10m/1h}.
   *
   * @throws IllegalArgumentException with the text and the remedy, if it is none
   */
  public static BanRule parseBan(String text) {
    Matcher parts = BAN.matcher(text);
    if (!parts.matches()) {
      throw new IllegalArgumentException(
          "The ban '%s' cannot be read: use VIOLATIONS/WITHIN/TIME, such as 5/10m/1h"
              .formatted(text));
    }
    return BanRule.of(Integer.parseInt(parts.group(1)), time(parts.group(2)), time(parts.group(3)));
  }

  /**
   * Reads a time with its unit: ms, s, m, h or d.
   *
   * @throws IllegalArgumentException with the text and the remedy, if it is none
   */
  public static Duration time(String text) {
    Matcher parts = TIME.matcher(text.trim());
    if (!parts.matches()) {
      throw new IllegalArgumentException(
          "The time '%s' cannot be read: use a number with ms, s, m, h or d, such as 1m"
              .formatted(text));
    }
    long number = Long.parseLong(parts.group(1));
    return switch (parts.group(2)) {
      case "ms" -> Duration.ofMillis(number);
      case "s" -> Duration.ofSeconds(number);
      case "m" -> Duration.ofMinutes(number);
      case "h" -> Duration.ofHours(number);
      default -> Duration.ofDays(number);
    };
  }

  /** A time with the largest unit that fits, such as {@code 90s} or {@code 1h}. */
  public static String of(Duration time) {
    if (time.toMillisPart() != 0) {
      return time.toMillis() + "ms";
    }
    long seconds = time.toSeconds();
    if (seconds != 0 && seconds % 86_400 == 0) {
      return seconds / 86_400 + "d";
    }
    if (seconds != 0 && seconds % 3_600 == 0) {
      return seconds / 3_600 + "h";
    }
    return seconds != 0 && seconds % 60 == 0 ? seconds / 60 + "m" : seconds + "s";
  }

  /** The rule as {@link #parse} reads it. */
  public static String of(Rule rule) {
    String numbers = rule.count() + "/";
    if (rule instanceof TokenBucketRule bucket) {
      String refill = bucket.refill() == bucket.count() ? "" : ",refill=" + bucket.refill();
      return numbers + of(bucket.interval()) + ":token-bucket" + refill;
    }
    numbers += of(rule.window());
    if (rule instanceof LeakyBucketRule leaky) {
      return numbers
          + ":leaky-bucket,queue=%s,max-wait=%s".formatted(leaky.queue(), of(leaky.maxWait()));
    }
    if (rule instanceof FixedWindowRule fixed) {
      return numbers
          + ":fixed-window"
          + fixed.alignment().map(by -> ",zone=" + by.zone()).orElse("");
    }
    return numbers + (rule instanceof SlidingWindowCounterRule ? ":sliding-window-counter" : "");
  }

  /**
   * The rules as an annotation. If who is counted is a field or a group, {@code …} stands for a
   * bean that finds it; as it is, it is not compiled.
   *
   * @param policy the name of the policy
   * @param subject who is counted, as {@link LogReader#subject} reads it
   */
  public static String annotation(List<Rule> rules, String policy, String subject) {
    StringBuilder text = new StringBuilder("@RateLimiter(value = \"" + policy + "\"");
    if (subject.equals("user")) {
      text.append(", limitType = LimitType.USER_ID");
    } else if (subject.equals("all")) {
      text.append(", limitType = LimitType.GLOBAL");
    } else if (!subject.equals("ip")) {
      text.append(", resolver = ….class");
    }
    text.append(", rules = ").append(rules.size() > 1 ? "{" : "");
    for (int r = 0; r < rules.size(); r++) {
      text.append(r == 0 ? "" : ", ").append(annotation(rules.get(r)));
    }
    return text.append(rules.size() > 1 ? "})" : ")").toString();
  }

  private static String annotation(Rule rule) {
    Duration time = rule instanceof TokenBucketRule bucket ? bucket.interval() : rule.window();
    boolean millis = time.toMillisPart() != 0;
    String text =
        "@RateRule(count = %s, time = %s"
            .formatted(rule.count(), millis ? time.toMillis() : time.toSeconds());
    text += millis ? ", timeUnit = TimeUnit.MILLISECONDS" : "";
    if (rule instanceof TokenBucketRule bucket) {
      return text
          + (bucket.refill() == bucket.count()
              ? ", algorithm = Algorithm.TOKEN_BUCKET)"
              : ", tokenBucket = @TokenBucket(refill = %s))".formatted(bucket.refill()));
    }
    if (rule instanceof LeakyBucketRule leaky) {
      return text + ", leakyBucket = @LeakyBucket(queue = %s))".formatted(leaky.queue());
    }
    if (rule instanceof FixedWindowRule fixed) {
      return text
          + fixed
              .alignment()
              .map(
                  by ->
                      ", fixedWindow = @FixedWindow(aligned = true, zone = \"%s\"))"
                          .formatted(by.zone()))
              .orElse(", algorithm = Algorithm.FIXED_WINDOW)");
    }
    return text
        + (rule instanceof SlidingWindowCounterRule
            ? ", algorithm = Algorithm.SLIDING_WINDOW_COUNTER)"
            : ")");
  }

  /**
   * The rules as settings, which only observe. If who is counted is a field or a group, {@code …}
   * stands for the name of a bean that finds it; as it is, no service starts.
   *
   * @param policy the name of the policy
   * @param paths the paths that it limits; empty if a method has its annotation
   * @param subject who is counted, as {@link LogReader#subject} reads it
   */
  public static String yaml(List<Rule> rules, String policy, List<String> paths, String subject) {
    StringBuilder text =
        new StringBuilder(
            "limiter:\n  policies:\n    %s:\n      observe: true\n".formatted(policy));
    if (subject.equals("user")) {
      text.append("      limit-type: user_id\n");
    } else if (subject.equals("all")) {
      text.append("      limit-type: global\n");
    } else if (!subject.equals("ip")) {
      text.append("      subject: …\n");
    }
    text.append("      rules:\n");
    for (Rule rule : rules) {
      text.append("        - {").append(yaml(rule)).append("}\n");
    }
    if (!paths.isEmpty()) {
      text.append("  routes:\n");
      for (String path : paths) {
        text.append("    - {path: \"%s\", policy: %s}\n".formatted(path, policy));
      }
    }
    return text.toString();
  }

  /**
   * The rules as settings of a policy that exists: as those on trial beside its own.
   *
   * @param policy the name of the policy
   */
  public static String trialYaml(List<Rule> rules, String policy) {
    StringBuilder text =
        new StringBuilder("limiter:\n  policies:\n    %s:\n      trial:\n".formatted(policy));
    rules.forEach(rule -> text.append("        - {").append(yaml(rule)).append("}\n"));
    return text.toString();
  }

  private static String yaml(Rule rule) {
    Duration time = rule instanceof TokenBucketRule bucket ? bucket.interval() : rule.window();
    String text = "count: %s, time: %s".formatted(rule.count(), of(time));
    if (rule instanceof TokenBucketRule bucket) {
      return text
          + (bucket.refill() == bucket.count()
              ? ", algorithm: TOKEN_BUCKET"
              : ", token-bucket: {refill: %s}".formatted(bucket.refill()));
    }
    if (rule instanceof LeakyBucketRule leaky) {
      return text
          + ", leaky-bucket: {queue: %s, max-wait: %s}"
              .formatted(leaky.queue(), of(leaky.maxWait()));
    }
    if (rule instanceof FixedWindowRule fixed) {
      return text
          + fixed
              .alignment()
              .map(by -> ", fixed-window: {aligned: true, zone: %s}".formatted(by.zone()))
              .orElse(", algorithm: FIXED_WINDOW");
    }
    return text
        + (rule instanceof SlidingWindowCounterRule ? ", algorithm: SLIDING_WINDOW_COUNTER" : "");
  }
}
