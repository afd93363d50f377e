// SPDX-License-Identifier: Apache-2.0
package io.limiter.processor;

import io.limiter.micronaut.annotation.Anonymous;
import io.limiter.micronaut.annotation.Limited;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.plan.DuplicateGuard;
import io.limiter.micronaut.plan.DuplicateGuard.SubmissionContent;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.PlannedCharge;
import io.limiter.micronaut.plan.PolicyPlan;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.core.annotation.AnnotationClassValue;
import io.micronaut.core.annotation.AnnotationMetadata;
import io.micronaut.core.annotation.AnnotationValue;
import io.micronaut.core.annotation.Internal;
import io.micronaut.http.annotation.Header;
import io.micronaut.http.annotation.HttpMethodMapping;
import io.micronaut.inject.ast.MethodElement;
import io.micronaut.inject.visitor.TypeElementVisitor;
import io.micronaut.inject.visitor.VisitorContext;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.WeakHashMap;
import java.util.stream.Stream;

/**
 * Adds the denials of limited and idempotent routes to the API that micronaut-openapi documents:
 * responses, header fields, and the rules as an extension. They are as annotated; configuration may
 * change them. It does nothing without swagger's annotations on the class path.
 *
 * <p>They are written as members of {@code @Operation}: micronaut-openapi leaves the usual response
 * out of a method that has an {@code @ApiResponse} of its own.
 */
@Internal
public final class RateLimitApiVisitor implements TypeElementVisitor<Object, Object> {

  /** Before micronaut-openapi's visitors, the first of which is at 100: the highest comes first. */
  public static final int ORDER = 1_000;

  /** The extension with the rules. */
  static final String EXTENSION = "x-rate-limits";

  // By name, since the classes may be absent.
  private static final String SWAGGER = "io.swagger.v3.oas.annotations.";
  private static final String OPERATION = SWAGGER + "Operation";
  private static final String RESPONSE = SWAGGER + "responses.ApiResponse";
  private static final String HEADER = SWAGGER + "headers.Header";
  private static final String SCHEMA = SWAGGER + "media.Schema";
  private static final String CONTENT = SWAGGER + "media.Content";
  private static final String RULES = SWAGGER + "extensions.Extension";
  private static final String RULE = SWAGGER + "extensions.ExtensionProperty";
  private static final String PARAMETER = SWAGGER + "Parameter";
  private static final String BODY = "io.micronaut.http.hateoas.JsonError";
  private static final String KEY = "Idempotency-Key";
  private static final int MAX_KEY = 255;

  private static final String NAME = "name";
  private static final String DESCRIPTION = "description";
  private static final String RESPONSES = "responses";
  private static final String EXTENSIONS = "extensions";
  private static final String PARAMETERS = "parameters";
  private static final String STATUS = "responseCode";

  /** One for each compilation: a build tool uses one visitor for many, some at the same time. */
  private final Map<VisitorContext, CompileTimeCheck> checks =
      Collections.synchronizedMap(new WeakHashMap<>());

  @Override
  public int getOrder() {
    return ORDER;
  }

  /** That of micronaut-openapi's visitors: those of another kind see no annotation of this one. */
  @Override
  public VisitorKind getVisitorKind() {
    return VisitorKind.AGGREGATING;
  }

  @Override
  public Set<String> getSupportedOptions() {
    return Set.of(CompilerOptions.OPENAPI);
  }

  @Override
  public void visitMethod(MethodElement method, VisitorContext context) {
    if (method.isStatic()
        || !method.hasStereotype(HttpMethodMapping.class)
        || !(has(method, Limited.class.getName()) || has(method, IdempotentVisitor.ANNOTATION))
        || CompilerOptions.isOff(CompilerOptions.OPENAPI, context)
        || context.getClassElement(OPERATION).isEmpty()) {
      return;
    }
    Optional<LimitPlan> plan =
        has(method, Limited.class.getName())
            ? checks
                .computeIfAbsent(context, any -> new CompileTimeCheck())
                .check(new SourceMethod(method.getOwningType(), method))
                .plan()
            : Optional.empty();
    Optional<Keys> keys = Keys.of(method);
    if (plan.isPresent() || keys.isPresent()) {
      document(method, plan, keys);
    }
  }

  private static boolean has(MethodElement method, String annotation) {
    return method.hasStereotype(annotation) || method.getOwningType().hasStereotype(annotation);
  }

  private static void document(
      MethodElement method, Optional<LimitPlan> plan, Optional<Keys> keys) {
    Optional<AnnotationValue<java.lang.annotation.Annotation>> operation =
        method.findAnnotation(OPERATION);
    List<AnnotationValue<?>> responses = new ArrayList<>(written(operation, RESPONSES));
    Set<String> documented = new HashSet<>();
    responses.forEach(each -> each.stringValue(STATUS).ifPresent(documented::add));
    Stream.of(method, method.getOwningType())
        .flatMap(element -> element.getAnnotationValuesByName(RESPONSE).stream())
        .forEach(each -> each.stringValue(STATUS).ifPresent(documented::add));
    Map<String, String> reasons = plan.map(RateLimitApiVisitor::denials).orElseGet(TreeMap::new);
    boolean counted = plan.filter(limits -> !limits.charges().isEmpty()).isPresent();
    Set<String> ofLimits = counted ? Set.copyOf(reasons.keySet()) : Set.of();
    keys.ifPresent(known -> known.addReasons(reasons));
    reasons.forEach(
        (status, reason) -> {
          if (documented.add(status)) {
            responses.add(response(status, reason, ofLimits.contains(status)));
          }
        });
    List<AnnotationValue<?>> extensions = new ArrayList<>(written(operation, EXTENSIONS));
    plan.ifPresent(limits -> extensions.add(rules(limits)));
    List<AnnotationValue<?>> parameters = new ArrayList<>(written(operation, PARAMETERS));
    keys.filter(known -> !documentsKey(method, parameters))
        .ifPresent(known -> parameters.add(known.parameter()));
    method.annotate(
        OPERATION,
        builder -> {
          builder.member(RESPONSES, responses.toArray(AnnotationValue<?>[]::new));
          if (!extensions.isEmpty()) {
            builder.member(EXTENSIONS, extensions.toArray(AnnotationValue<?>[]::new));
          }
          if (!parameters.isEmpty()) {
            builder.member(PARAMETERS, parameters.toArray(AnnotationValue<?>[]::new));
          }
        });
  }

  /** Whether the application documents the header, or takes it as a parameter. */
  private static boolean documentsKey(MethodElement method, List<AnnotationValue<?>> parameters) {
    return Stream.of(
            parameters.stream().map(each -> each.stringValue(NAME)),
            method.getAnnotationValuesByName(PARAMETER).stream()
                .map(each -> each.stringValue(NAME)),
            Stream.of(method.getParameters())
                .map(each -> each.getAnnotation(Header.class))
                .filter(Objects::nonNull)
                .map(each -> each.stringValue().or(() -> each.stringValue(NAME))))
        .flatMap(names -> names)
        .flatMap(Optional::stream)
        .anyMatch(KEY::equalsIgnoreCase);
  }

  private static List<? extends AnnotationValue<?>> written(
      Optional<? extends AnnotationValue<?>> operation, String member) {
    return operation.map(known -> known.getAnnotations(member)).orElse(List.of());
  }

  /** Why a call of a method may be denied, by status. */
  private static Map<String, String> denials(LimitPlan plan) {
    Map<String, String> reasons = new TreeMap<>();
    if (needsValues(plan)) {
      reasons.put(
          "400",
          "The request lacks the value by which calls are counted or compared, or repeats it");
    }
    plan.duplicates()
        .map(DuplicateGuard::text)
        .ifPresent(
            text -> reasons.put(status(text, 409), "The request repeats an accepted submission"));
    if (plan.waits()) {
      reasons.put("503", "The call was abandoned while it waited for its turn");
    }
    for (PolicyPlan policy : plan.policies()) {
      policy.charges().stream()
          .filter(planned -> !planned.trial())
          .flatMap(planned -> Stream.of(planned.rules(), planned.anonymousRules()))
          .flatMap(stack -> stack.rules().stream())
          .map(rule -> policy.texts().getOrDefault(rule.name(), DenialText.NONE))
          .forEach(text -> reasons.put(status(text, 429), "Too many requests"));
    }
    return reasons;
  }

  private static String status(DenialText text, int otherwise) {
    return String.valueOf(text.status().orElse(otherwise));
  }

  /** Whether calls may lack a subject, a cost or a submission, which makes them bad requests. */
  private static boolean needsValues(LimitPlan plan) {
    return plan.charges().stream()
            .anyMatch(
                planned ->
                    isRejected(planned.source()) || planned.byArguments().findAny().isPresent())
        || plan.duplicates()
            .filter(
                guard ->
                    isRejected(guard.submitter())
                        || guard.submission() instanceof SubmissionContent.ByExpression)
            .isPresent();
  }

  private static boolean isRejected(SubjectSource source) {
    return source.kind() == SubjectSource.Kind.EXPRESSION
        || source.kind() == SubjectSource.Kind.HEADER // of which several lines are rejected
        || source.anonymous() == Anonymous.REJECT;
  }

  private static AnnotationValue<?> response(String status, String reason, boolean counted) {
    List<AnnotationValue<?>> headers = new ArrayList<>();
    if (status.startsWith("4") && !status.equals("400") && counted) {
      headers.add(header("RateLimit-Policy", "The rules of this call: units and seconds"));
      headers.add(header("RateLimit", "What is left of each rule, and the seconds until more is"));
    }
    if (status.equals("429")) {
      headers.add(header("Retry-After", "Seconds after which the same call may be admitted"));
    }
    AnnotationValue<?> body =
        AnnotationValue.builder(CONTENT)
            .member("mediaType", "application/json")
            .member(
                "schema",
                AnnotationValue.builder(SCHEMA)
                    .member("implementation", new AnnotationClassValue<>(BODY))
                    .build())
            .build();
    var response =
        AnnotationValue.builder(RESPONSE)
            .member(STATUS, status)
            .member(DESCRIPTION, reason)
            .member("content", new AnnotationValue<?>[] {body});
    if (!headers.isEmpty()) {
      response.member("headers", headers.toArray(AnnotationValue<?>[]::new));
    }
    return response.build();
  }

  private static AnnotationValue<?> header(String name, String description) {
    return AnnotationValue.builder(HEADER)
        .member(NAME, name)
        .member(DESCRIPTION, description)
        .member("schema", AnnotationValue.builder(SCHEMA).member("type", "string").build())
        .build();
  }

  private static AnnotationValue<?> rules(LimitPlan plan) {
    Map<String, String> rules = new LinkedHashMap<>();
    for (PlannedCharge planned : plan.charges()) {
      if (!planned.trial()) {
        planned
            .rules()
            .rules()
            .forEach(
                rule ->
                    rules.put(rule.name(), RuleWords.of(rule, planned, plan) + ", as annotated"));
      }
    }
    plan.duplicates()
        .ifPresent(guard -> rules.put("duplicates", RuleWords.of(guard) + ", as annotated"));
    AnnotationValue<?>[] properties =
        rules.entrySet().stream()
            .map(
                rule ->
                    AnnotationValue.builder(RULE)
                        .member(NAME, rule.getKey())
                        .member("value", rule.getValue())
                        .build())
            .toArray(AnnotationValue<?>[]::new);
    return AnnotationValue.builder(RULES)
        .member(NAME, EXTENSION)
        .member("properties", properties)
        .build();
  }

  /**
   * The {@code Idempotency-Key} of a route.
   *
   * @param required whether a request needs one
   * @param retain for how long a response is kept, as written; empty if it is not
   */
  private record Keys(boolean required, String retain) {

    static Optional<Keys> of(MethodElement method) {
      return Stream.<AnnotationMetadata>of(
              method.getMethodAnnotationMetadata(), method.getOwningType())
          .filter(place -> place.hasStereotype(IdempotentVisitor.ANNOTATION))
          .findFirst()
          .map(
              place ->
                  Optional.ofNullable(place.getAnnotation(IdempotentVisitor.ANNOTATION))
                      .map(
                          written ->
                              new Keys(
                                  written.booleanValue("required").orElse(true),
                                  IdempotentVisitor.retain(written)))
                      .orElseThrow());
    }

    String words() {
      return retain.isEmpty()
          ? "The request runs once for each key of a caller: a repetition is denied with 409 for 24h"
          : "The request runs once for each key of a caller: a repetition receives the first response, which is kept for %s, as annotated"
              .formatted(retain);
    }

    void addReasons(Map<String, String> reasons) {
      add(
          reasons,
          "400",
          required
              ? "The Idempotency-Key is missing, invalid, or of no known caller"
              : "The Idempotency-Key is invalid, or of no known caller");
      add(
          reasons,
          "409",
          retain.isEmpty()
              ? "The Idempotency-Key was used, or its first request still runs"
              : "The first request with the Idempotency-Key still runs, or its response was not kept");
      add(reasons, "413", "The body of a request with an Idempotency-Key is too large");
      add(reasons, "415", "The body of a request with an Idempotency-Key has parts");
      add(reasons, "422", "The Idempotency-Key was used for another request");
      add(reasons, "503", "The service cannot look for the Idempotency-Key now");
    }

    private static void add(Map<String, String> reasons, String status, String reason) {
      reasons.merge(status, reason, (limited, own) -> limited + ". " + own);
    }

    AnnotationValue<?> parameter() {
      return AnnotationValue.builder(PARAMETER)
          .member(NAME, KEY)
          .member("in", "HEADER")
          .member("required", required)
          .member(DESCRIPTION, words())
          .member(
              "schema",
              AnnotationValue.builder(SCHEMA)
                  .member("type", "string")
                  .member("minLength", 1)
                  .member("maxLength", MAX_KEY)
                  .build())
          .build();
    }
  }
}
