// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.limiter.core.Outcome;
import io.limiter.micronaut.config.DenialConfiguration;
import io.limiter.micronaut.config.TemplateConfiguration;
import io.limiter.micronaut.denial.ProblemTypes.Problem;
import io.micronaut.context.BeanContext;
import io.micronaut.context.BeanProvider;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.util.SupplierUtil;
import io.micronaut.http.HttpMethod;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.MediaType;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.hateoas.JsonError;
import io.micronaut.http.server.exceptions.response.ErrorContext;
import io.micronaut.http.server.exceptions.response.ErrorResponseProcessor;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Creates the configured body, unless the application has its own {@link DenialBody}. */
@Internal
@Factory
public final class DenialBodyFactory {

  /** Prefix of the problem types. */
  private static final String TYPES = "https://iana.org/assignments/http-problem-types#";

  /** What has no type. */
  private static final String BLANK = "about:blank";

  @Context // created at the start, so that a mistake in the template stops it
  @Requires(missingBeans = DenialBody.class)
  DenialBody body(
      DenialConfiguration configuration,
      TemplateConfiguration template,
      BeanProvider<ErrorResponseProcessor<?>> errors,
      BeanContext beans,
      List<ProblemTypes> types) {
    DenialConfiguration.Body form = configuration.form();
    if (form != DenialConfiguration.Body.TEMPLATE && template.fields().isPresent()) {
      throw new ConfigurationException(
          "%s = %s: it is used only where %s.body = template: set that, or remove the template"
              .formatted(
                  TemplateConfiguration.PREFIX,
                  template.fields().get(),
                  DenialConfiguration.PREFIX));
    }
    if (form != DenialConfiguration.Body.PROBLEM && configuration.numbers()) {
      throw new ConfigurationException(
          "%s.numbers = true: only %s.body = problem has them by itself: set that, or write placeholders such as {limit} into messages or the template"
              .formatted(DenialConfiguration.PREFIX, DenialConfiguration.PREFIX));
    }
    ApplicationBody application =
        new ApplicationBody(errors, processor -> UsualErrors.template(processor, beans));
    return switch (form) {
      case APPLICATION -> application;
      case PROBLEM -> problem(application, configuration, types);
      case TEMPLATE -> {
        JsonTemplate body = JsonTemplate.read(TemplateConfiguration.PREFIX, fields(template));
        yield new ObjectBody(outcome -> body, body, MediaType.APPLICATION_JSON_TYPE, application);
      }
    };
  }

  /**
   * {@code application/problem+json} as in RFC 9457, with the types of
   * draft-ietf-httpapi-ratelimit-headers. The draft has none for duplicates and for requests that
   * are rejected without a verdict, which are therefore about:blank with the title of the status,
   * as the RFC requires, unless a module has a type for their code.
   *
   * <p>Titles are always English, since the draft defines them. The detail is in the language of
   * the request.
   *
   * @param pages what a browser receives
   */
  private static DirectBody problem(
      DirectBody pages, DenialConfiguration configuration, List<ProblemTypes> types) {
    boolean numbers = configuration.numbers();
    // All types have the violated policies. While the store is away no policy is known to be
    // violated, and a banned subject may no longer violate any.
    JsonTemplate limited = problem("quota-exceeded", "Quota Exceeded", numbers);
    JsonTemplate banned = problem("abnormal-usage-detected", "Abnormal Usage Detected", numbers);
    JsonTemplate unavailable =
        problem("temporary-reduced-capacity", "Temporary Reduced Capacity", numbers);
    Map<String, @Nullable Object> blank = problemFields(BLANK, Denial.Value.TITLE);
    JsonTemplate duplicate = new JsonTemplate(numbers ? withNumbers(blank) : blank);
    Function<Rejection, Optional<Problem>> found =
        rejection ->
            types.stream().flatMap(module -> module.of(rejection.code()).stream()).findFirst();
    JsonTemplate.Part type = rejection -> found.apply(rejection).map(Problem::type).orElse(BLANK);
    JsonTemplate.Part title =
        rejection -> found.apply(rejection).map(Problem::title).orElseGet(rejection::title);
    return new ObjectBody(
        outcome ->
            switch (outcome) {
              case LIMITED -> limited;
              case BANNED -> banned;
              case UNAVAILABLE -> unavailable;
              case DUPLICATE, ALLOWED -> duplicate;
            },
        new JsonTemplate(problemFields(type, title)),
        MediaType.APPLICATION_JSON_PROBLEM_TYPE,
        pages);
  }

  private static JsonTemplate problem(String type, String title, boolean numbers) {
    Map<String, @Nullable Object> problem = problemFields(TYPES + type, title);
    problem.put("violated-policies", Denial.Value.VIOLATED);
    return new JsonTemplate(numbers ? withNumbers(problem) : problem);
  }

  private static Map<String, @Nullable Object> withNumbers(Map<String, @Nullable Object> problem) {
    for (Denial.Value value :
        List.of(
            Denial.Value.LIMIT,
            Denial.Value.REMAINING,
            Denial.Value.WINDOW,
            Denial.Value.RESET,
            Denial.Value.RETRY_AFTER)) {
      problem.put(value.placeholder(), value);
    }
    return problem;
  }

  private static Map<String, @Nullable Object> problemFields(Object type, Object title) {
    return JsonTemplate.object(
        "type", type,
        "title", title,
        "status", Denial.Value.STATUS,
        "detail", Denial.Value.MESSAGE,
        "instance", Denial.Value.PATH,
        "code", Denial.Value.CODE);
  }

  private static Map<String, @Nullable Object> fields(TemplateConfiguration template) {
    return template
        .fields()
        .filter(fields -> !fields.isEmpty())
        .orElseThrow(
            () ->
                new ConfigurationException(
                    "%s.body = template: no fields are configured under %s: write the fields of the body there, such as %s.code = {code}"
                        .formatted(
                            DenialConfiguration.PREFIX,
                            TemplateConfiguration.PREFIX,
                            TemplateConfiguration.PREFIX)));
  }

  /**
   * The application's own error format, as its ErrorResponseProcessor writes it, including HTML for
   * browsers. In Micronaut's default format the code is the {@code logref}, whose purpose is to
   * name the error.
   */
  static final class ApplicationBody implements DirectBody {

    /**
     * Not created at the start: a service that serves no HTTP may lack what it needs, such as JSON.
     */
    private final Supplier<ErrorResponseProcessor<?>> application;

    /** For programs, where all that makes and encodes it is Micronaut's; else empty. */
    private final Supplier<Optional<JsonTemplate>> ours;

    ApplicationBody(
        BeanProvider<ErrorResponseProcessor<?>> application,
        Function<ErrorResponseProcessor<?>, Optional<JsonTemplate>> ours) {
      this.application = SupplierUtil.memoized(application::get);
      this.ours = SupplierUtil.memoized(() -> ours.apply(this.application.get()));
    }

    @Override
    public MutableHttpResponse<?> reject(
        Rejection.Plain rejection, MutableHttpResponse<?> response) {
      ErrorContext.Builder error =
          ErrorContext.builder(rejection.request()).errorMessage(rejection.message());
      rejection.mistake().ifPresent(error::cause);
      return process(error.build(), rejection, response);
    }

    @Override
    public MutableHttpResponse<?> write(Denial denial, MutableHttpResponse<?> response) {
      ErrorContext error =
          ErrorContext.builder(denial.request())
              .cause(denial.cause())
              .errorMessage(denial.message())
              .build();
      return process(error, denial, response);
    }

    private MutableHttpResponse<?> process(
        ErrorContext error, Rejection rejection, MutableHttpResponse<?> response) {
      MutableHttpResponse<?> answer = written(error, rejection, response);
      if (answer.body() instanceof JsonError json && json.getLogref().isEmpty()) {
        json.logref(rejection.code());
      }
      return answer;
    }

    /** Micronaut's own format fails for statuses that Micronaut does not know, such as 430. */
    private MutableHttpResponse<?> written(
        ErrorContext error, Rejection rejection, MutableHttpResponse<?> response) {
      if (Denial.named(rejection.status()).isPresent()) {
        return application.get().processResponse(error, response);
      }
      String reason = response.reason();
      return application
          .get()
          .processResponse(error, response.status(HttpStatus.BAD_REQUEST.getCode(), reason))
          .status(rejection.status(), reason);
    }

    @Override
    public MediaType type() {
      return MediaType.APPLICATION_JSON_TYPE;
    }

    @Override
    public void lookUp() {
      var unused = ours.get();
    }

    /** Mappers leave an empty message out. */
    @Override
    public Optional<JsonTemplate> template(Denial denial) {
      return denial.message().isEmpty() ? Optional.empty() : ours.get();
    }
  }

  /**
   * An object for programs. A browser receives the application's error page instead; Micronaut's
   * own processor distinguishes browsers from programs in the same way. HEAD requests receive no
   * body.
   *
   * @param templates the object for each outcome
   * @param rejected the object without a verdict
   */
  private record ObjectBody(
      Function<Outcome, JsonTemplate> templates,
      JsonTemplate rejected,
      MediaType type,
      DirectBody pages)
      implements DirectBody {

    @Override
    public MutableHttpResponse<?> write(Denial denial, MutableHttpResponse<?> response) {
      return browser(denial.request())
          ? pages.write(denial, response)
          : body(templates.apply(denial.verdict().outcome()), denial, response);
    }

    @Override
    public MutableHttpResponse<?> reject(
        Rejection.Plain rejection, MutableHttpResponse<?> response) {
      return browser(rejection.request())
          ? pages.reject(rejection, response)
          : body(rejected, rejection, response);
    }

    private MutableHttpResponse<?> body(
        JsonTemplate template, Rejection rejection, MutableHttpResponse<?> response) {
      return rejection.request().getMethod() == HttpMethod.HEAD
          ? response
          : response.body(template.fill(rejection)).contentType(type);
    }

    @Override
    public Optional<JsonTemplate> template(Denial denial) {
      return Optional.of(templates.apply(denial.verdict().outcome()));
    }

    @Override
    public void lookUp() {
      pages.lookUp();
    }

    private static boolean browser(HttpRequest<?> request) {
      return request.getMethod() != HttpMethod.HEAD
          && request.accept().stream().anyMatch(MediaType.TEXT_HTML_TYPE::equals)
          && request.accept().stream()
              .noneMatch(type -> type.matchesExtension(MediaType.EXTENSION_JSON));
    }
  }
}
