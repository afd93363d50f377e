// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import io.limiter.micronaut.annotation.Anonymous;
import io.limiter.micronaut.annotation.SubjectResolver;
import io.limiter.micronaut.definition.CallExpression;
import io.micronaut.core.annotation.Internal;
import java.util.function.Supplier;

/** Where the subject of a rule comes from. */
public sealed interface SubjectSource {

  /** The client's address. */
  record Address() implements SubjectSource {}

  /** All calls together, as one subject. */
  record Everybody() implements SubjectSource {}

  /**
   * The sender of a submission where all calls are counted as one: the user who is logged in, else
   * the address; outside of a request all calls together.
   */
  record Submitter() implements SubjectSource {}

  /**
   * The user who is logged in.
   *
   * @param anonymous how other requests are limited
   */
  record User(Anonymous anonymous) implements SubjectSource {}

  /**
   * The value of a request header.
   *
   * @param name its name, in lower case
   * @param anonymous how requests without it are limited
   */
  record Header(String name, Anonymous anonymous) implements SubjectSource {}

  /**
   * An expression over the method's arguments.
   *
   * @param ordinal distinguishes several expressions of one method, from 0: equal values of two
   *     expressions are two subjects
   */
  @Internal
  record Expression(CallExpression expression, int ordinal) implements SubjectSource {}

  /**
   * A bean of the application.
   *
   * @param type the type that the annotation names
   * @param anonymous how calls are limited for which it returns no subject
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

  /** The source as written in an annotation, for messages. */
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

  /** Whether the subject depends on the arguments of a call. */
  default boolean needsArguments() {
    return this instanceof Expression;
  }

  /** Whether clients choose the value freely, and may choose another for each call. */
  @Internal
  default boolean isChosen() {
    return this instanceof Header || this instanceof Expression;
  }

  /** Whether there may be calls without a subject. */
  @Internal
  default boolean mayBeAnonymous() {
    return this instanceof User || this instanceof Header || this instanceof Resolver;
  }

  /** How calls without a subject are limited; never {@code REJECT} if every call has one. */
  default Anonymous anonymous() {
    return Anonymous.ADDRESS;
  }

  /** The same source with another treatment of calls without a subject. */
  @Internal
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
   * The source by which a duplicate guard counts: also where all calls are counted as one,
   * submissions belong to their senders.
   */
  @Internal
  default SubjectSource submitter() {
    return this instanceof Everybody ? new Submitter() : this;
  }
}
