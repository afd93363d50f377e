// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.definition;

import io.limiter.core.Fallback;
import io.limiter.core.rule.CalendarPeriod;
import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.Anonymous;
import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.StreamEnd;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.annotation.AnnotationClassValue;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.convert.ConversionService;
import io.micronaut.core.naming.NameUtils;
import io.micronaut.core.type.Argument;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A member of a policy or of a rule. This is the only list of them: annotations and settings are
 * read by it, and names are checked by it.
 *
 * @param <T> the type of its values
 */
@Internal
public final class PolicyMember<T> {

  private static final Map<String, List<PolicyMember<?>>> GROUPS = new HashMap<>();
  private static final Map<String, PolicyMember<?>> POLICY = new LinkedHashMap<>();
  private static final Map<String, PolicyMember<?>> RULE = new LinkedHashMap<>();

  // Members that exclude each other: a change that sets one replaces the others.
  private static final String WHO = "who";
  private static final String HOW = "how";
  private static final String SAME = "same";
  private static final String RELEASE = "release";

  /** The words for a boolean. Micronaut reads every other as false, a mistyped true as well. */
  public static final Set<String> SWITCH_WORDS = Set.of("true", "on", "yes", "false", "off", "no");

  private static final String WHOLE_NUMBERS = "set it to whole numbers, such as 404, 409";

  // Of a policy.
  public static final PolicyMember<Boolean> ENABLED = flag(POLICY, "enabled");
  public static final PolicyMember<Boolean> OBSERVE = flag(POLICY, "observe").alsoOfRules();
  public static final PolicyMember<Fallback> FALLBACK = word(POLICY, "fallback", Fallback.class);
  public static final PolicyMember<Duration> DEADLINE =
      new PolicyMember<>(
          POLICY, "deadline", Argument.of(Duration.class), "set it to 1 ms to 10 s, such as 100ms");
  public static final PolicyMember<Boolean> DENY_CACHE = flag(POLICY, "deny-cache");
  public static final PolicyMember<Anonymous> ANONYMOUS =
      word(POLICY, "anonymous", Anonymous.class);
  public static final PolicyMember<Expressible> COST = expressible(POLICY, "cost");
  public static final PolicyMember<Long> STREAM_STEP = number(POLICY, "stream.step");
  public static final PolicyMember<StreamEnd> STREAM_END =
      word(POLICY, "stream.end", StreamEnd.class);
  public static final PolicyMember<Expressible> CONDITION = expressible(POLICY, "condition");
  public static final PolicyMember<Boolean> BEFORE_SECURITY = flag(POLICY, "before-security");
  public static final PolicyMember<Boolean> EARLY = flag(POLICY, "early");
  public static final PolicyMember<Duration> LEASE =
      textTime("lease", "set it to 10 ms to 10 s, such as 100ms, or to 0s for none");
  public static final PolicyMember<Double> WARN_AT =
      new PolicyMember<>(
          POLICY,
          "warn-at",
          Argument.of(Double.class),
          "set it to a share above 0 to 1, such as 0.8, or to 0 for none");
  public static final PolicyMember<List<Integer>> FAILED_ON = numbers(POLICY, "failed-on");
  public static final PolicyMember<Expressible> COUNT_IF = expressible(POLICY, "count-if");
  public static final PolicyMember<Long> STATUS = number(POLICY, "status");
  public static final PolicyMember<String> CODE = text(POLICY, "code");
  public static final PolicyMember<String> MESSAGE = text(POLICY, "message");
  public static final PolicyMember<Long> BAN_VIOLATIONS = number(POLICY, "ban.violations");
  public static final PolicyMember<Duration> BAN_WITHIN = time(POLICY, "ban.within");
  public static final PolicyMember<Duration> BAN_TIME = time(POLICY, "ban.time");
  public static final PolicyMember<Long> BAN_GROWTH = number(POLICY, "ban.growth");
  public static final PolicyMember<Duration> BAN_LONGEST = time(POLICY, "ban.longest");
  public static final PolicyMember<Boolean> DUPLICATE = flag(POLICY, "duplicate.enabled");
  public static final PolicyMember<DuplicateBy> DUPLICATE_BY =
      word(POLICY, "duplicate.by", DuplicateBy.class).in(SAME);
  public static final PolicyMember<Long> DUPLICATE_COUNT = number(POLICY, "duplicate.count");
  public static final PolicyMember<Duration> DUPLICATE_TIME = time(POLICY, "duplicate.time");
  public static final PolicyMember<Boolean> RELEASE_ON_FAILURE =
      flag(POLICY, "duplicate.release-on-failure").in(RELEASE);
  public static final PolicyMember<List<Integer>> RELEASE_ON =
      numbers(POLICY, "duplicate.release-on").in(RELEASE);
  public static final PolicyMember<Duration> CLAIM =
      textTime("duplicate.claim", "set it to 1 s to 10 min, such as 30s");
  public static final PolicyMember<Long> DUPLICATE_STATUS = number(POLICY, "duplicate.status");
  public static final PolicyMember<String> DUPLICATE_CODE = text(POLICY, "duplicate.code");
  public static final PolicyMember<String> DUPLICATE_MESSAGE = text(POLICY, "duplicate.message");

  // Of a policy and of a rule.
  public static final PolicyMember<LimitType> LIMIT_TYPE =
      word(POLICY, "limit-type", LimitType.class).in(WHO).alsoOfRules();
  public static final PolicyMember<String> HEADER = text(POLICY, "header").in(WHO).alsoOfRules();
  public static final PolicyMember<Expressible> SUBJECT =
      expressible(POLICY, "subject").in(WHO).alsoOfRules();

  // Of a rule.
  public static final PolicyMember<Long> COUNT = number(RULE, "count");
  public static final PolicyMember<Duration> TIME = time(RULE, "time");
  public static final PolicyMember<String> NAME = text(RULE, "name");
  public static final PolicyMember<Algorithm> ALGORITHM =
      word(RULE, "algorithm", Algorithm.class).in(HOW);
  public static final PolicyMember<Counts> COUNTS = word(RULE, "counts", Counts.class);
  public static final PolicyMember<Boolean> ALIGNED = flag(RULE, "fixed-window.aligned").in(HOW);
  public static final PolicyMember<String> ZONE = text(RULE, "fixed-window.zone").in(HOW);
  public static final PolicyMember<Expressible> ANCHOR =
      expressible(RULE, "fixed-window.anchor").in(HOW);
  public static final PolicyMember<CalendarPeriod> CALENDAR =
      word(RULE, "fixed-window.calendar", CalendarPeriod.class).in(HOW);
  public static final PolicyMember<Long> REFILL = number(RULE, "token-bucket.refill").in(HOW);
  public static final PolicyMember<Boolean> GREEDY = flag(RULE, "token-bucket.greedy").in(HOW);
  public static final PolicyMember<Long> INITIAL = number(RULE, "token-bucket.initial").in(HOW);
  public static final PolicyMember<Long> QUEUE = number(RULE, "leaky-bucket.queue").in(HOW);
  public static final PolicyMember<Duration> MAX_WAIT = time(RULE, "leaky-bucket.max-wait").in(HOW);
  public static final PolicyMember<Boolean> FAIR = flag(RULE, "leaky-bucket.fair").in(HOW);

  // Only in annotations. The last ones mark an annotation all of whose members are defaults.
  public static final PolicyMember<String> KEY = text(null, "key");
  public static final PolicyMember<AnnotationClassValue<?>> RESOLVER = bean("resolver").in(WHO);
  public static final PolicyMember<AnnotationClassValue<?>> RESULT_COST = bean("result-cost");
  public static final PolicyMember<Expressible> DUPLICATE_KEY =
      expressible(null, "duplicate.key").in(SAME);
  public static final PolicyMember<String> DUPLICATE_NAME = text(null, "duplicate.name");
  public static final PolicyMember<AnnotationClassValue<?>> CUSTOM = bean("custom.value").in(HOW);
  public static final PolicyMember<List<Double>> PARAMETERS =
      new PolicyMember<>(null, "custom.parameters", Argument.listOf(Double.class), "").in(HOW);
  public static final PolicyMember<Boolean> STREAM = flag(null, "stream");
  public static final PolicyMember<Boolean> BAN = flag(null, "ban");
  public static final PolicyMember<Boolean> DETAILS = flag(null, "duplicate");
  public static final PolicyMember<Boolean> DUPLICATE_RULE = flag(null, "prevent-duplicate-rule");
  public static final PolicyMember<Boolean> FIXED_WINDOW = flag(null, "fixed-window").in(HOW);
  public static final PolicyMember<Boolean> TOKEN_BUCKET = flag(null, "token-bucket").in(HOW);
  public static final PolicyMember<Boolean> LEAKY_BUCKET = flag(null, "leaky-bucket").in(HOW);

  private final String path;
  private final String annotated;
  private final Argument<T> type;
  private final String remedy;
  private String family = "";
  private boolean text;

  private PolicyMember(
      @Nullable Map<String, PolicyMember<?>> all, String path, Argument<T> type, String remedy) {
    this.path = path;
    this.annotated = NameUtils.camelCase(path, true);
    this.type = type;
    this.remedy = remedy;
    GROUPS.computeIfAbsent(parent(path), any -> new ArrayList<>()).add(this);
    if (all != null) {
      all.put(path, this);
    }
  }

  private static PolicyMember<Boolean> flag(
      @Nullable Map<String, PolicyMember<?>> all, String path) {
    return new PolicyMember<>(all, path, Argument.of(Boolean.class), "set it to true or false");
  }

  private static PolicyMember<Long> number(Map<String, PolicyMember<?>> all, String path) {
    return new PolicyMember<>(all, path, Argument.of(Long.class), "set it to a whole number");
  }

  private static PolicyMember<List<Integer>> numbers(
      Map<String, PolicyMember<?>> all, String path) {
    return new PolicyMember<>(all, path, Argument.listOf(Integer.class), WHOLE_NUMBERS);
  }

  private static PolicyMember<Duration> time(Map<String, PolicyMember<?>> all, String path) {
    return new PolicyMember<>(
        all,
        path,
        Argument.of(Duration.class),
        "set it to a time with its unit, such as 60s or 1h");
  }

  /** A time that annotations state as a text with its unit, too. */
  private static PolicyMember<Duration> textTime(String path, String remedy) {
    PolicyMember<Duration> member =
        new PolicyMember<>(POLICY, path, Argument.of(Duration.class), remedy);
    member.text = true;
    return member;
  }

  private static PolicyMember<String> text(
      @Nullable Map<String, PolicyMember<?>> all, String path) {
    return new PolicyMember<>(all, path, Argument.STRING, "");
  }

  private static PolicyMember<Expressible> expressible(
      @Nullable Map<String, PolicyMember<?>> all, String path) {
    return new PolicyMember<>(all, path, Argument.of(Expressible.class), "");
  }

  private static <E extends Enum<E>> PolicyMember<E> word(
      Map<String, PolicyMember<?>> all, String path, Class<E> type) {
    return new PolicyMember<>(
        all,
        path,
        Argument.of(type),
        Arrays.stream(type.getEnumConstants())
            .map(word -> word.name().toLowerCase(Locale.ROOT).replace('_', '-'))
            .collect(Collectors.joining(", ", "set it to one of ", "")));
  }

  @SuppressWarnings({"unchecked", "rawtypes"}) // a wildcard has no class literal
  private static PolicyMember<AnnotationClassValue<?>> bean(String path) {
    return new PolicyMember<>(null, path, (Argument) Argument.of(AnnotationClassValue.class), "");
  }

  private PolicyMember<T> in(String exclusive) {
    this.family = exclusive;
    return this;
  }

  private PolicyMember<T> alsoOfRules() {
    RULE.put(path, this);
    return this;
  }

  /** The members of a policy that settings may have, by path. */
  public static Map<String, PolicyMember<?>> ofPolicy() {
    return Collections.unmodifiableMap(POLICY);
  }

  private static String parent(String path) {
    return path.substring(0, Math.max(0, path.lastIndexOf('.')));
  }

  /**
   * The members of a group, such as {@code ban}; "" has those of a policy and a rule themselves.
   */
  public static List<PolicyMember<?>> ofGroup(String group) {
    return Collections.unmodifiableList(GROUPS.getOrDefault(group, List.of()));
  }

  /** The members of a rule that settings may have, by path. */
  public static Map<String, PolicyMember<?>> ofRule() {
    return Collections.unmodifiableMap(RULE);
  }

  /** The name in settings, such as {@code token-bucket.refill}. */
  public String path() {
    return path;
  }

  /** The name in annotations, such as {@code tokenBucket.refill}. */
  public String annotated() {
    return annotated;
  }

  /** The type of its values. */
  public Class<T> type() {
    return type.getType();
  }

  /** Whether annotations state it as a text that settings could have; other times are numbers. */
  public boolean isText() {
    return text;
  }

  /** Whether its value is a list, which a source may have item by item. */
  public boolean isList() {
    return type.getType() == List.class;
  }

  /**
   * Whether a change that has this member replaces another one. The other parameters of the same
   * algorithm stay. A period of the calendar has its own length.
   */
  boolean replaces(PolicyMember<?> other) {
    if (this == TIME || other == TIME) {
      return this == CALENDAR || other == CALENDAR;
    }
    return !family.isEmpty()
        && family.equals(other.family)
        && !(family.equals(HOW) && group().equals(other.group()));
  }

  private String group() {
    int dot = path.indexOf('.');
    return dot < 0 ? path : path.substring(0, dot);
  }

  /**
   * Reads the value in a source.
   *
   * @param raw a text, a number, a boolean or a list, with resolved placeholders
   * @throws ConfigurationException if it is of another type
   */
  public Sourced<T> read(Object raw, Origin origin, ConversionService conversion) {
    return new Sourced<>(converted(raw, conversion).orElseThrow(() -> mistake(origin)), origin);
  }

  /** An invalid value of this member. */
  public ConfigurationException mistake(Origin origin) {
    return origin.mistake(remedy);
  }

  private Optional<T> converted(Object raw, ConversionService conversion) {
    if (isList()) {
      List<Object> items = new ArrayList<>();
      for (String item : conversion.convertRequired(raw, Argument.LIST_OF_STRING)) {
        Optional<Integer> converted = conversion.convert(item.strip(), Integer.class);
        if (converted.isEmpty() && !item.isBlank()) {
          return Optional.empty();
        }
        converted.ifPresent(items::add);
      }
      return Optional.of(cast(items));
    }
    String text = raw.toString();
    if (type() == Expressible.class) {
      return Optional.of(cast(new Expressible(text, Optional.empty())));
    }
    boolean misread =
        type() == Boolean.class
            ? !SWITCH_WORDS.contains(text.strip().toLowerCase(Locale.ROOT))
            : type() == Duration.class && text.strip().chars().allMatch(Character::isDigit);
    return misread
        ? Optional.empty()
        : conversion.convert(type() == String.class ? text : text.strip(), type);
  }

  /** A value of this member, which was read by its type. */
  @SuppressWarnings("unchecked")
  public T cast(Object value) {
    return (T) value;
  }

  @Override
  public String toString() {
    return path;
  }

  /**
   * A text that an annotation may write as an expression over the arguments.
   *
   * @param text as written
   * @param expression empty for a plain text
   */
  public record Expressible(String text, Optional<CallExpression> expression) {

    @Override
    public String toString() {
      return text;
    }
  }

  /** A value, and where it stands. */
  public record Sourced<T>(T value, Origin origin) {}
}
