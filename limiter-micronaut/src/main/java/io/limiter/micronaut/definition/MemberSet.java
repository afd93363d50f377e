// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.definition;

import io.limiter.micronaut.definition.PolicyMember.Sourced;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.naming.NameUtils;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/** The members of a policy or of a rule that are written somewhere; the others are absent. */
@Internal
public final class MemberSet {

  private final String place;
  private final Map<PolicyMember<?>, Sourced<?>> written;

  private MemberSet(String place, Map<PolicyMember<?>, Sourced<?>> written) {
    this.place = place;
    this.written = written;
  }

  /**
   * No members yet.
   *
   * @param place what has them, for mistakes in members that are not written: the method and the
   *     annotation, or the prefix of settings
   */
  public static MemberSet of(String place) {
    return new MemberSet(place, Map.of());
  }

  /** What has these members. */
  public String place() {
    return place;
  }

  public boolean isEmpty() {
    return written.isEmpty();
  }

  public boolean has(PolicyMember<?> member) {
    return written.containsKey(member);
  }

  /** Whether a member of a group, such as {@code ban}, is written. */
  public boolean hasGroup(String group) {
    return originOf(group).isPresent();
  }

  /** Where the first member of a group stands. */
  public Optional<Origin> originOf(String group) {
    for (Map.Entry<PolicyMember<?>, Sourced<?>> each : written.entrySet()) {
      if (isOf(group, each.getKey())) {
        return Optional.of(each.getValue().origin());
      }
    }
    return Optional.empty();
  }

  /** The name of a member or a group as it is written in its place. */
  String nameOf(String group) {
    return originOf(group).filter(Origin::isSetting).isPresent()
        ? group
        : NameUtils.camelCase(group, true);
  }

  private static boolean isOf(String group, PolicyMember<?> member) {
    String path = member.path();
    return path.startsWith(group)
        && (path.length() == group.length() || path.charAt(group.length()) == '.');
  }

  /** The value of a member. */
  public <T> Optional<T> get(PolicyMember<T> member) {
    return find(member).map(Sourced::value);
  }

  /** The value of a member, and where it stands. */
  @SuppressWarnings("unchecked") // put with the type of the member
  public <T> Optional<Sourced<T>> find(PolicyMember<T> member) {
    return Optional.ofNullable((Sourced<T>) written.get(member));
  }

  public boolean isTrue(PolicyMember<Boolean> member) {
    return get(member).orElse(false);
  }

  public boolean isFalse(PolicyMember<Boolean> member) {
    return !get(member).orElse(true);
  }

  /** Returns these members with another value of one. */
  public <T> MemberSet with(PolicyMember<T> member, Sourced<T> value) {
    Map<PolicyMember<?>, Sourced<?>> all = new LinkedHashMap<>(written);
    all.put(member, value);
    return new MemberSet(place, all);
  }

  /** Returns some of these members. */
  MemberSet only(Collection<PolicyMember<?>> some) {
    Map<PolicyMember<?>, Sourced<?>> all = new LinkedHashMap<>(written);
    all.keySet().retainAll(some);
    return new MemberSet(place, all);
  }

  /** Returns these members with those of a change, in place of all that they exclude. */
  public MemberSet with(MemberSet change) {
    if (change.isEmpty()) {
      return this;
    }
    if (isEmpty()) {
      return new MemberSet(place, change.written);
    }
    Map<PolicyMember<?>, Sourced<?>> all = new LinkedHashMap<>(written);
    all.keySet()
        .removeIf(own -> change.written.keySet().stream().anyMatch(other -> other.replaces(own)));
    all.putAll(change.written);
    return new MemberSet(place, all);
  }

  /** Where each of them stands. */
  public Collection<Origin> origins() {
    return written.values().stream().<Origin>map(Sourced::origin).toList();
  }

  /** Rejects a member that has no effect in its place. */
  public void reject(PolicyMember<?> member, String remedy) {
    find(member)
        .ifPresent(
            it -> {
              throw it.origin().mistake(remedy);
            });
  }

  /** A mistake in what is not a member of its own, such as the list of rules. */
  public ConfigurationException mistake(String member, Object value, String remedy) {
    return new Origin(place + '.' + member, String.valueOf(value), "").mistake(remedy);
  }

  /**
   * A mistake in a member.
   *
   * @param value the value from a default or the annotation; a setting has its own text
   */
  public ConfigurationException mistake(PolicyMember<?> member, Object value, String remedy) {
    return origin(member, value).mistake(remedy);
  }

  /**
   * Where a member stands, for a mistake in it.
   *
   * @param value the value from a default or the annotation; a setting has its own text
   */
  public Origin origin(PolicyMember<?> member, Object value) {
    Optional<Origin> origin = find(member).map(Sourced::origin);
    String key = origin.map(Origin::key).orElse(place + '.' + member.annotated());
    return origin
        .filter(Origin::isSetting)
        .orElseGet(() -> new Origin(key, String.valueOf(value), ""));
  }
}
