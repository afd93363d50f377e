// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.micronaut.annotation.Anonymous;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.SubjectResolver;
import io.limiter.micronaut.config.LimiterConfiguration;
import io.limiter.micronaut.config.WrittenSetting;
import io.limiter.micronaut.subject.CallExpression;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.core.expressions.EvaluatedExpression;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.Locale;
import java.util.function.ToIntFunction;
import java.util.regex.Pattern;

/** Reads the subject of an annotation. */
@Singleton
final class SubjectSourceReader {

  /** A field name of RFC 9110, section 5.6.2, with a bounded length. */
  private static final Pattern HEADER_NAME = Pattern.compile("[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}");

  private final NamedBeans beans;
  private final LimiterConfiguration configuration;

  SubjectSourceReader(NamedBeans beans, LimiterConfiguration configuration) {
    this.beans = beans;
    this.configuration = configuration;
  }

  /** Whether a rule has its own subject. */
  boolean isWrittenIn(AnnotationMembers rule) {
    return rule.has("limitType") || rule.hasText("header") || rule.hasText("subject");
  }

  /** How calls without a subject are limited by this annotation. */
  Anonymous anonymous(AnnotationMembers limiter) {
    return limiter
        .constant("anonymous", Anonymous.class)
        .orElseGet(
            () -> limiter.has("anonymousRules") ? Anonymous.ADDRESS : configuration.anonymous());
  }

  /**
   * @param who the annotation with the subject
   * @param ordinals distinguishes the expressions of one limit
   */
  SubjectSource read(
      AnnotationMembers who, Anonymous anonymous, ToIntFunction<CallExpression> ordinals) {
    rejectSeveral(who);
    if (who.setting("subject").isPresent()) {
      return namedResolver(who.setting("subject").get(), anonymous);
    }
    if (who.hasText("subject")) {
      CallExpression expression =
          expression(
              who,
              "subject",
              "it is the same for every call: write an expression over the arguments, such as \"#{phone}\", or use limitType = GLOBAL");
      return new SubjectSource.Expression(expression, ordinals.applyAsInt(expression));
    }
    if (who.has("resolver")) {
      return resolver(who, anonymous);
    }
    LimitType type =
        who.constant("limitType", LimitType.class)
            .orElse(who.hasText("header") ? LimitType.HEADER : LimitType.IP);
    return switch (type) {
      case IP -> new SubjectSource.Address();
      case USER_ID -> new SubjectSource.User(anonymous);
      case GLOBAL -> new SubjectSource.Everybody();
      case HEADER -> new SubjectSource.Header(header(who), anonymous);
    };
  }

  /**
   * @param otherwise the remedy for a text that is not an expression
   */
  static CallExpression expression(AnnotationMembers holder, String member, String otherwise) {
    Object written = holder.raw(member);
    if (!(written instanceof EvaluatedExpression)) {
      throw holder.error(member, String.valueOf(written), otherwise);
    }
    return new CallExpression(
        holder.method() + ": " + holder.name(), written.toString(), holder.annotation(), member);
  }

  private static void rejectSeveral(AnnotationMembers who) {
    List<String> written =
        List.of("subject", "resolver", "header").stream().filter(who::hasText).toList();
    if (written.size() > 1) {
      throw who.error(
          written.get(1),
          who.raw(written.get(1)),
          "%s already defines who is counted: remove one of them".formatted(written.get(0)));
    }
    LimitType type = who.constant("limitType", LimitType.class).orElse(null);
    if (type != null && who.has("resolver")) {
      throw who.error(
          "limitType", type, "the resolver already defines who is counted: remove one of them");
    }
    if (type != null && type != LimitType.HEADER && who.hasText("header")) {
      throw who.error("limitType", type, "a header is counted by limitType = HEADER: write that");
    }
  }

  private static String header(AnnotationMembers who) {
    String name = who.text("header").orElse("");
    if (name.isEmpty()) {
      throw who.error("header", "\"\"", "name the header, such as header = \"X-Api-Key\"");
    }
    if (!HEADER_NAME.matcher(name).matches()) {
      throw who.error("header", name, "no header can have this name: write one such as X-Api-Key");
    }
    return name.toLowerCase(Locale.ROOT);
  }

  /** A configured subject is the name of a resolver: an expression is compiled. */
  private SubjectSource namedResolver(WrittenSetting bean, Anonymous anonymous) {
    NamedBeans.FoundBean<SubjectResolver> named =
        beans
            .named(SubjectResolver.class, bean.value())
            .orElseThrow(
                () ->
                    bean.mistake(
                        "no bean of type %s has this name: give one @Named(\"%s\"); an expression can only be written in an annotation"
                            .formatted(SubjectResolver.class.getName(), bean.value())));
    return new SubjectSource.Resolver(named.type(), anonymous, named.object());
  }

  private SubjectSource resolver(AnnotationMembers who, Anonymous anonymous) {
    NamedBeans.FoundBean<SubjectResolver> bean =
        beans.ofType(who, "resolver", SubjectResolver.class);
    return new SubjectSource.Resolver(bean.type(), anonymous, bean.object());
  }
}
