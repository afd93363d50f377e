// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.core.rule.Rule;
import io.limiter.micronaut.config.EnumSetting;
import io.limiter.micronaut.config.WrittenSetting;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.annotation.AnnotationValue;
import io.micronaut.core.convert.ConversionService;
import io.micronaut.core.expressions.EvaluatedExpression;
import io.micronaut.core.naming.NameUtils;
import java.lang.annotation.Annotation;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The members of one annotation, as configuration may have changed them, and the errors about them.
 * Metadata contains only the members that were written, not defaults.
 */
final class AnnotationMembers {

  private final String method;
  private final String name;
  private final AnnotationValue<?> annotation;
  // By member, such as count or tokenBucket.refill.
  private final Map<String, WrittenSetting> settings;
  private final Set<String> hidden;

  /**
   * @param method the method that the annotation applies to
   * @param name the annotation, as in {@code @RateLimiter}
   * @param annotation the annotation
   */
  AnnotationMembers(String method, String name, AnnotationValue<?> annotation) {
    this(method, name, annotation, Map.of(), Set.of());
  }

  private AnnotationMembers(
      String method,
      String name,
      AnnotationValue<?> annotation,
      Map<String, WrittenSetting> settings,
      Set<String> hidden) {
    this.method = method;
    this.name = name;
    this.annotation = annotation;
    this.settings = settings;
    this.hidden = hidden;
  }

  /**
   * Returns these members with settings in place of some.
   *
   * @param changes by the path of the setting, such as {@code token-bucket.refill}
   * @param replaced members of the annotation that no longer count
   */
  AnnotationMembers with(Map<String, WrittenSetting> changes, Set<String> replaced) {
    if (changes.isEmpty() && replaced.isEmpty()) {
      return this;
    }
    Map<String, WrittenSetting> all = new HashMap<>(settings);
    changes.forEach((path, setting) -> all.put(member(path), setting));
    Set<String> none = new HashSet<>(hidden);
    none.addAll(replaced);
    return new AnnotationMembers(method, name, annotation, all, none);
  }

  /** The member that a path of a setting stands for. */
  static String member(String path) {
    return Arrays.stream(path.split("\\."))
        .map(part -> NameUtils.camelCase(part, true))
        .collect(Collectors.joining("."));
  }

  String method() {
    return method;
  }

  String name() {
    return name;
  }

  /** The annotation as written. Needed only for expressions, which no setting can be. */
  AnnotationValue<?> annotation() {
    return annotation;
  }

  boolean isOf(Class<? extends Annotation> type) {
    return annotation.getAnnotationName().equals(type.getName());
  }

  boolean has(String member) {
    return setting(member).isPresent()
        || hasNested(member)
        || (!hidden.contains(member) && annotation.contains(member));
  }

  /** The setting in place of a member. */
  Optional<WrittenSetting> setting(String member) {
    return Optional.ofNullable(settings.get(member));
  }

  private boolean hasNested(String member) {
    return settings.keySet().stream().anyMatch(path -> path.startsWith(member + '.'));
  }

  /** The raw value of a member: any other way of reading would evaluate an expression. */
  @Nullable Object raw(String member) {
    WrittenSetting setting = settings.get(member);
    if (setting != null) {
      return setting.value();
    }
    if (hasNested(member)) {
      return settings.entrySet().stream()
          .filter(each -> each.getKey().startsWith(member + '.'))
          .map(Map.Entry::getValue)
          .findFirst()
          .orElseThrow();
    }
    if (hidden.contains(member)) {
      return null;
    }
    for (Map.Entry<CharSequence, Object> entry : annotation.getValues().entrySet()) {
      if (member.contentEquals(entry.getKey())) {
        return entry.getValue();
      }
    }
    return null;
  }

  /** Whether the member is a text that is not empty. */
  boolean hasText(String member) {
    Object raw = raw(member);
    return raw != null && !"".equals(raw);
  }

  /** The text of a member, if it is not empty. */
  Optional<String> text(String member) {
    if (raw(member) instanceof EvaluatedExpression) {
      throw error(
          member,
          "#{…}",
          "it is read once, when the service starts, and only subject, cost and the key of a duplicate may be expressions: write a text");
    }
    Optional<WrittenSetting> setting = setting(member);
    if (setting.isPresent()) {
      return setting.map(WrittenSetting::value).filter(text -> !text.isEmpty());
    }
    if (hidden.contains(member)) {
      return Optional.empty();
    }
    try {
      return annotation.stringValue(member).filter(text -> !text.isEmpty());
    } catch (ConfigurationException unresolved) {
      throw error(
          member,
          raw(member),
          "%s: set it, or give it a default, as in ${name:default}"
              .formatted(unresolved.getMessage()));
    }
  }

  /** The whole number in a member; empty if it is not written. */
  OptionalLong number(String member) {
    Optional<WrittenSetting> setting = setting(member);
    if (setting.isPresent()) {
      try {
        return OptionalLong.of(Long.parseLong(setting.get().value().strip()));
      } catch (NumberFormatException noNumber) {
        throw setting.get().mistake("give it a whole number");
      }
    }
    return hidden.contains(member) ? OptionalLong.empty() : annotation.longValue(member);
  }

  /** The whole number in a member, which may be any that an int holds. */
  int number(String member, int otherwise) {
    long number = number(member).orElse(otherwise);
    return (int) Math.max(Integer.MIN_VALUE, Math.min(number, Integer.MAX_VALUE));
  }

  /** The whole numbers in a member; none if it is not written. */
  int[] numbers(String member) {
    Optional<WrittenSetting> setting = setting(member);
    if (setting.isEmpty()) {
      return hidden.contains(member) ? new int[0] : annotation.intValues(member);
    }
    try {
      return Arrays.stream(setting.get().value().split(","))
          .map(String::strip)
          .filter(item -> !item.isEmpty())
          .mapToInt(Integer::parseInt)
          .toArray();
    } catch (NumberFormatException noNumber) {
      throw setting.get().mistake("give it whole numbers, such as 404, 409");
    }
  }

  /**
   * The statuses in a member, 400 to 599.
   *
   * @param ifEmpty the remedy for an empty list
   */
  Set<Integer> statuses(String member, String ifEmpty) {
    int[] statuses = numbers(member);
    if (statuses.length == 0) {
      throw error(member, "{}", ifEmpty);
    }
    for (int status : statuses) {
      if (status < 400 || status > 599) {
        throw error(member, status, "give it error statuses, 400 to 599");
      }
    }
    return Arrays.stream(statuses).boxed().collect(Collectors.toCollection(TreeSet::new));
  }

  /**
   * The time in a member with a number of units, within the bounds of every window. A setting has
   * its own unit.
   *
   * @param otherwise the number to use if it is not written
   */
  Duration time(String member, long otherwise, TimeUnit unit) {
    Optional<Duration> set = time(member);
    long number = set.isPresent() ? 1 : number(member).orElse(otherwise);
    if (number < 1) {
      throw error(member, number, "give it 1 or more");
    }
    Duration time = set.orElseGet(() -> duration(number, unit));
    String written = number + " " + unit;
    if (time.compareTo(Rule.MIN_WINDOW) < 0 || time.compareTo(Rule.MAX_WINDOW) > 0) {
      throw error(member, written, "give it 1 ms to 366 days");
    }
    if (time.toNanosPart() % 1_000 != 0) {
      throw error(member, written, "give it whole microseconds");
    }
    return time;
  }

  private static Duration duration(long number, TimeUnit unit) {
    try {
      return Duration.of(number, unit.toChronoUnit());
    } catch (ArithmeticException overflow) {
      return Duration.ofSeconds(Long.MAX_VALUE); // longer than a long can hold
    }
  }

  /** The time in a setting in place of a member. */
  private Optional<Duration> time(String member) {
    return setting(member)
        .map(
            setting ->
                ConversionService.SHARED
                    .convert(setting.value(), Duration.class)
                    .filter(time -> !setting.value().strip().matches("\\d+"))
                    .orElseThrow(
                        () -> setting.mistake("give it a time with its unit, such as 60s or 1h")));
  }

  boolean isTrue(String member) {
    return is(member).orElse(false);
  }

  boolean isFalse(String member) {
    return !is(member).orElse(true);
  }

  private Optional<Boolean> is(String member) {
    Optional<WrittenSetting> setting = setting(member);
    if (setting.isPresent()) {
      return setting.map(AnnotationMembers::isOn);
    }
    return hidden.contains(member) ? Optional.empty() : annotation.booleanValue(member);
  }

  static boolean isOn(WrittenSetting setting) {
    return EnumSetting.isOn(setting.key(), setting.value());
  }

  <E extends Enum<E>> Optional<E> constant(String member, Class<E> type) {
    Optional<WrittenSetting> setting = setting(member);
    if (setting.isPresent()) {
      return setting.map(it -> EnumSetting.of(type, it.key(), it.value().replace('_', '-')));
    }
    return hidden.contains(member) ? Optional.empty() : annotation.enumValue(member, type);
  }

  /** Rejects a member that has no effect in its place. */
  void reject(String member, String remedy) {
    if (has(member)) {
      Object raw = raw(member);
      Object value =
          raw instanceof int[] list
              ? Arrays.toString(list)
              : raw instanceof Object[] annotations ? written(annotations) : raw;
      throw error(member, value, remedy);
    }
  }

  /** The annotations in a member. */
  <A extends Annotation> List<AnnotationValue<A>> annotations(String member, Class<A> type) {
    return hidden.contains(member) ? List.of() : annotation.getAnnotations(member, type);
  }

  /**
   * The annotation in a member that may have one at most.
   *
   * @param type the type of the annotation
   */
  <A extends Annotation> Optional<AnnotationMembers> nested(String member, Class<A> type) {
    List<AnnotationValue<A>> written = annotations(member, type);
    if (written.size() > 1) {
      throw error(member, written(written.toArray()), "one is possible: remove the others");
    }
    if (written.isEmpty() && !hasNested(member)) {
      return Optional.empty();
    }
    Map<String, WrittenSetting> inner = new HashMap<>();
    settings.forEach(
        (path, setting) -> {
          if (path.startsWith(member + '.')) {
            inner.put(path.substring(member.length() + 1), setting);
          }
        });
    return Optional.of(
        new AnnotationMembers(
            method,
            name + '.' + member,
            written.isEmpty() ? AnnotationValue.builder(type).build() : written.get(0),
            inner,
            hidden.stream()
                .filter(path -> path.startsWith(member + '.'))
                .map(path -> path.substring(member.length() + 1))
                .collect(Collectors.toSet())));
  }

  private static String written(Object[] annotations) {
    return Arrays.stream(annotations)
        .map(
            one ->
                one instanceof AnnotationValue<?> value
                    ? "@" + NameUtils.getSimpleName(value.getAnnotationName())
                    : one.toString())
        .collect(Collectors.joining(", "));
  }

  ConfigurationException error(String member, @Nullable Object value, String remedy) {
    WrittenSetting setting =
        setting(member).orElseGet(() -> raw(member) instanceof WrittenSetting inner ? inner : null);
    return setting != null
        ? new ConfigurationException("%s: %s: %s".formatted(method, setting, remedy))
        : mistake(method, name + '.' + member, String.valueOf(value), remedy);
  }

  /** An error about what other settings of the policy would make right. */
  Correctable correctableError(String member, Object value, String remedy) {
    return new Correctable(String.valueOf(error(member, value, remedy).getMessage()));
  }

  /** A mistake of an annotation that the configuration of its policy could correct. */
  static final class Correctable extends ConfigurationException {

    private static final long serialVersionUID = 1L;

    private Correctable(String message) {
      super(message);
    }
  }

  /** A mistake in an annotation: always the method, the member, its value and the remedy. */
  static ConfigurationException mistake(String method, String member, String value, String remedy) {
    return new ConfigurationException("%s: %s = %s: %s".formatted(method, member, value, remedy));
  }
}
