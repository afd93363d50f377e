// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import io.limiter.micronaut.annotation.Anonymous;
import io.limiter.micronaut.annotation.SubjectResolver;
import java.util.function.Supplier;

/** Where the subject of a rule comes from. */
public sealed interface SubjectSource {

  /** The client's address. */
  record Address() implements SubjectSource {}

  /** Everybody together. */
  record Everybody() implements SubjectSource {}

  /**
   * Whoever submits, where everybody is counted as one: the user who is logged in, else the
   * address; outside of a request everybody.
   */
  record Submitter() implements SubjectSource {}

  /**
   * The user who is logged in.
   *
   * @param anonymous what becomes of others
   */
  record User(Anonymous anonymous) implements SubjectSource {}

  /**
   * The value of a request header.
   *
   * @param name its name, in lower case
   * @param anonymous what becomes of requests without it
   */
  record Header(String name, Anonymous anonymous) implements SubjectSource {}

  /**
   * What the method's arguments tell.
   *
   * @param ordinal tells several expressions of one method apart, from 0: equal values of two
   *     expressions are two subjects
   */
  record Expression(CallExpression expression, int ordinal) implements SubjectSource {}

  /**
   * What a bean of the application tells.
   *
   * @param type the type by which it is named
   * @param anonymous what becomes of calls of which it tells nothing
   * @param bean the bean
   */
  record Resolver(
      Class<? extends SubjectResolver> type, Anonymous anonymous, Supplier<SubjectResolver> bean)
      implements SubjectSource {

    @Override
    public boolean equals(Object other) {
      return other instanceof Resolver that && type == that.type && anonymous == that.anonymous;
    }

    @Override
    public int hashCode() {
      return 31 * type.hashCode() + anonymous.hashCode();
    }
  }

  /** How an annotation says it, for messages. */
  default String written() {
    if (this instanceof Header header) {
      return "header = " + header.name();
    }
    if (this instanceof Expression argument) {
      return "subject = " + argument.expression();
    }
    if (this instanceof Resolver resolver) {
      return "resolver = " + resolver.type().getName();
    }
    return "limitType = "
        + (this instanceof User ? "USER_ID" : this instanceof Everybody ? "GLOBAL" : "IP");
  }

  /** Whether only a call of the method tells, with its arguments. */
  default boolean needsArguments() {
    return this instanceof Expression;
  }

  /** Whether callers may say who they are, and another in each call. */
  default boolean isChosen() {
    return this instanceof Header || this instanceof Expression;
  }

  /** Whether there may be callers whom it cannot tell. */
  default boolean mayBeAnonymous() {
    return this instanceof User || this instanceof Header || this instanceof Resolver;
  }

  /** What becomes of callers whom it cannot tell; if there may be none, they are not refused. */
  default Anonymous anonymous() {
    return Anonymous.ADDRESS;
  }

  /** The same subjects, with this said of callers whom it cannot tell. */
  default SubjectSource withAnonymous(Anonymous anonymous) {
    if (this instanceof User) {
      return new User(anonymous);
    }
    if (this instanceof Header header) {
      return new Header(header.name(), anonymous);
    }
    return this instanceof Resolver resolver
        ? new Resolver(resolver.type(), anonymous, resolver.bean())
        : this;
  }

  /**
   * Whose submission a call is, for a duplicate guard: where everybody is counted as one, still
   * each caller's own.
   */
  default SubjectSource submitter() {
    return this instanceof Everybody ? new Submitter() : this;
  }
}
