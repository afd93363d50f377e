// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import io.limiter.micronaut.annotation.Anonymous;
import io.limiter.micronaut.annotation.SubjectResolver;
import io.limiter.micronaut.definition.CallExpression;
import io.micronaut.core.annotation.Internal;
import java.util.function.Supplier;

/**
 * Where the subject of a rule comes from. What belongs to another package is answered there by a
 * {@code switch} over the {@link Kind}, which does not compile until it has all kinds.
 */
public sealed interface SubjectSource {

  /** The kinds of sources. */
  enum Kind {
    /** See {@link Address}. */
    ADDRESS(true, false),
    /** See {@link Everybody}. */
    EVERYBODY(false, false),
    /** See {@link Submitter}. */
    SUBMITTER(false, false),
    /** See {@link User}. */
    USER(true, false),
    /** See {@link Header}. */
    HEADER(true, true),
    /** See {@link Expression}. */
    EXPRESSION(false, true),
    /** See {@link Resolver}. */
    RESOLVER(false, false);

    private final boolean needsRequest;
    private final boolean chosen;

    Kind(boolean needsRequest, boolean chosen) {
      this.needsRequest = needsRequest;
      this.chosen = chosen;
    }
  }

  /** Its kind. */
  Kind kind();

  /** The source as written in an annotation, for messages. */
  String written();

  /** How calls without a subject are limited; never {@code REJECT} if every call has one. */
  Anonymous anonymous();

  /** Returns this source with another treatment of calls without a subject, if there may be any. */
  @Internal
  SubjectSource withAnonymous(Anonymous other);

  /** Whether the subject depends on arguments that are bound after the gate. */
  default boolean needsArguments() {
    return false;
  }

  /** Whether a call outside of any request has no subject. */
  @Internal
  default boolean needsRequest() {
    return kind().needsRequest;
  }

  /** Whether clients choose the value freely, and may choose another for each call. */
  @Internal
  default boolean isChosen() {
    return kind().chosen;
  }

  /** Whether there may be calls without a subject. */
  @Internal
  default boolean mayBeAnonymous() {
    return true;
  }

  /**
   * The source by which a duplicate guard counts: also where all calls are counted as one,
   * submissions belong to their senders.
   */
  @Internal
  default SubjectSource submitter() {
    return kind() == Kind.EVERYBODY ? new Submitter() : this;
  }

  /** A source by which every call has a subject. */
  @Internal
  sealed interface OfEveryCall extends SubjectSource {

    @Override
    default Anonymous anonymous() {
      return Anonymous.ADDRESS;
    }

    @Override
    default SubjectSource withAnonymous(Anonymous other) {
      return this;
    }

    @Override
    default boolean mayBeAnonymous() {
      return false;
    }
  }

  /** The client's address. */
  record Address() implements OfEveryCall {

    @Override
    public Kind kind() {
      return Kind.ADDRESS;
    }

    @Override
    public String written() {
      return "limitType = IP";
    }
  }

  /** All calls together, as one subject. */
  record Everybody() implements OfEveryCall {

    @Override
    public Kind kind() {
      return Kind.EVERYBODY;
    }

    @Override
    public String written() {
      return "limitType = GLOBAL";
    }
  }

  /**
   * The sender of a submission where all calls are counted as one: the user who is logged in, else
   * the address; outside of a request all calls together.
   */
  record Submitter() implements OfEveryCall {

    @Override
    public Kind kind() {
      return Kind.SUBMITTER;
    }

    @Override
    public String written() {
      return "limitType = IP";
    }
  }

  /**
   * The user who is logged in.
   *
   * @param anonymous how other requests are limited
   */
  record User(Anonymous anonymous) implements SubjectSource {

    @Override
    public Kind kind() {
      return Kind.USER;
    }

    @Override
    public String written() {
      return "limitType = USER_ID";
    }

    @Override
    public SubjectSource withAnonymous(Anonymous other) {
      return new User(other);
    }
  }

  /**
   * The value of a request header.
   *
   * @param name its name, in lower case
   * @param address whether the value is an address, and counted like that of a client
   * @param anonymous how requests without it are limited, or with another value than an address
   */
  record Header(String name, boolean address, Anonymous anonymous) implements SubjectSource {

    @Override
    public Kind kind() {
      return Kind.HEADER;
    }

    @Override
    public String written() {
      return (address ? "limitType = IP, header = " : "header = ") + name;
    }

    @Override
    public SubjectSource withAnonymous(Anonymous other) {
      return new Header(name, address, other);
    }
  }

  /**
   * An expression over the method's arguments.
   *
   * @param ordinal distinguishes several expressions of one method, from 0: equal values of two
   *     expressions are two subjects
   */
  @Internal
  record Expression(CallExpression expression, int ordinal) implements OfEveryCall {

    @Override
    public Kind kind() {
      return Kind.EXPRESSION;
    }

    @Override
    public boolean needsArguments() {
      return expression.needsArguments();
    }

    @Override
    public String written() {
      return "subject = " + expression;
    }
  }

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
    public Kind kind() {
      return Kind.RESOLVER;
    }

    @Override
    public String written() {
      return "resolver = " + type.getName();
    }

    @Override
    public SubjectSource withAnonymous(Anonymous other) {
      return new Resolver(type, other, bean);
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Resolver that && type == that.type && anonymous == that.anonymous;
    }

    @Override
    public int hashCode() {
      return 31 * type.hashCode() + anonymous.hashCode();
    }
  }
}
