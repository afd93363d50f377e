// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.micronaut.annotation.Anonymous;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.SubjectResolver;
import io.limiter.micronaut.config.LimiterConfiguration;
import io.limiter.micronaut.definition.CallExpression;
import io.limiter.micronaut.definition.MemberSet;
import io.limiter.micronaut.definition.PolicyMember;
import io.limiter.micronaut.definition.PolicyMember.Expressible;
import io.limiter.micronaut.definition.PolicyMember.Sourced;
import io.limiter.micronaut.definition.Refusals;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.core.annotation.Internal;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.ToIntFunction;
import java.util.regex.Pattern;

/** Finds who is counted, by the definition of a policy or of a rule. */
@Internal
public final class SubjectReader {

  /** A field name of RFC 9110, section 5.6.2, with a bounded length. */
  private static final Pattern HEADER_NAME = Pattern.compile("[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}");

  /** The members that state who is counted. */
  static final List<PolicyMember<?>> WHO =
      List.of(
          PolicyMember.LIMIT_TYPE,
          PolicyMember.HEADER,
          PolicyMember.SUBJECT,
          PolicyMember.RESOLVER);

  private final NamedBeans beans;
  private final LimiterConfiguration configuration;

  public SubjectReader(NamedBeans beans, LimiterConfiguration configuration) {
    this.beans = beans;
    this.configuration = configuration;
  }

  /** Whether a policy or a rule has a subject of its own. */
  static boolean isWrittenIn(MemberSet who) {
    for (PolicyMember<?> member : WHO) {
      if (who.has(member)) {
        return true;
      }
    }
    return false;
  }

  /**
   * How calls without a subject are limited.
   *
   * @param ownRules whether there are rules for them
   */
  Anonymous anonymous(MemberSet policy, boolean ownRules) {
    return policy
        .get(PolicyMember.ANONYMOUS)
        .orElseGet(() -> ownRules ? Anonymous.ADDRESS : configuration.anonymous());
  }

  /**
   * @param who the policy or the rule with the subject
   * @param ordinals distinguishes the expressions of one limit
   */
  SubjectSource read(MemberSet who, Anonymous anonymous, ToIntFunction<CallExpression> ordinals) {
    Refusals.WHO.check(who, Set.of());
    if (who.has(PolicyMember.SUBJECT)) {
      Sourced<Expressible> subject = who.find(PolicyMember.SUBJECT).orElseThrow();
      if (subject.origin().isSetting()) {
        // An expression is compiled, so this is the name of a resolver.
        return resolver(
            beans.named(
                subject,
                SubjectResolver.class,
                "; an expression can only be written in an annotation"),
            anonymous);
      }
      CallExpression expression =
          expression(
              subject,
              "it is the same for every call: write an expression over the arguments, such as \"#{phone}\", or use limitType = GLOBAL");
      return new SubjectSource.Expression(expression, ordinals.applyAsInt(expression));
    }
    if (who.has(PolicyMember.RESOLVER)) {
      return resolver(
          beans.ofType(who.find(PolicyMember.RESOLVER).orElseThrow(), SubjectResolver.class),
          anonymous);
    }
    LimitType type =
        who.get(PolicyMember.LIMIT_TYPE)
            .orElse(who.has(PolicyMember.HEADER) ? LimitType.HEADER : LimitType.IP);
    return switch (type) {
      case IP ->
          who.has(PolicyMember.HEADER)
              ? new SubjectSource.Header(header(who), true, anonymous)
              : new SubjectSource.Address();
      case USER_ID -> new SubjectSource.User(anonymous);
      case GLOBAL -> new SubjectSource.Everybody();
      case HEADER -> new SubjectSource.Header(header(who), false, anonymous);
    };
  }

  /**
   * The expression in a member.
   *
   * @param otherwise the remedy for a text that is not an expression
   */
  static CallExpression expression(Sourced<Expressible> written, String otherwise) {
    return written.value().expression().orElseThrow(() -> written.origin().mistake(otherwise));
  }

  private static String header(MemberSet who) {
    String name = who.get(PolicyMember.HEADER).orElse("");
    if (name.isEmpty()) {
      throw who.mistake(
          PolicyMember.HEADER, "\"\"", "name the header, such as header = \"X-Api-Key\"");
    }
    if (!HEADER_NAME.matcher(name).matches()) {
      throw who.mistake(
          PolicyMember.HEADER, name, "no header can have this name: write one such as X-Api-Key");
    }
    return name.toLowerCase(Locale.ROOT);
  }

  private static SubjectSource resolver(
      NamedBeans.BeanRef<SubjectResolver> bean, Anonymous anonymous) {
    return new SubjectSource.Resolver(bean.type(), anonymous, bean.object());
  }
}
