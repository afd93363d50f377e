// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.limiter.micronaut.config.DenialConfiguration;
import io.limiter.micronaut.config.TemplateConfiguration;
import io.micronaut.context.BeanProvider;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.annotation.Internal;
import io.micronaut.http.HttpMethod;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.MediaType;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.hateoas.JsonError;
import io.micronaut.http.server.exceptions.response.ErrorContext;
import io.micronaut.http.server.exceptions.response.ErrorResponseProcessor;
import io.micronaut.json.tree.JsonNode;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Creates the configured body, unless the application has its own {@link DenialBody}. */
@Internal
@Factory
public final class DenialBodyFactory {

  /** Micronaut's own, which is not public. */
  private static final String PROCESSOR =
      "io.micronaut.http.server.exceptions.response.DefaultErrorResponseProcessor";

  @Context // created at the start, so that a mistake in the template stops it
  @Requires(missingBeans = DenialBody.class)
  DenialBody body(
      DenialConfiguration configuration,
      TemplateConfiguration template,
      BeanProvider<ErrorResponseProcessor<?>> errors) {
    DenialConfiguration.Body form = configuration.form();
    if (form != DenialConfiguration.Body.TEMPLATE && template.fields().isPresent()) {
      throw new ConfigurationException(
          "%s = %s: it is used only where %s.body = template: set that, or remove the template"
              .formatted(
                  TemplateConfiguration.PREFIX,
                  template.fields().get(),
                  DenialConfiguration.PREFIX));
    }
    ApplicationBody application = new ApplicationBody(errors);
    return switch (form) {
      case APPLICATION -> application;
      case PROBLEM -> new MachineReadableBody(new ProblemBody(), application);
      case TEMPLATE -> new MachineReadableBody(new TemplateBody(fields(template)), application);
    };
  }

  /**
   * Whether this body depends on nothing but the denial and its request: not if it is the
   * application's, or in a format of its own.
   */
  public static boolean isKnown(DenialBody body) {
    return body instanceof MachineReadableBody
        || (body instanceof ApplicationBody application
            && application.application.get().getClass().getName().equals(PROCESSOR));
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
  static final class ApplicationBody implements DenialBody {

    // Not created at the start: a service that serves no HTTP may lack what it needs, such as JSON.
    private final BeanProvider<ErrorResponseProcessor<?>> application;

    ApplicationBody(BeanProvider<ErrorResponseProcessor<?>> application) {
      this.application = application;
    }

    @Override
    public MutableHttpResponse<?> write(Denial denial, MutableHttpResponse<?> response) {
      ErrorContext error =
          ErrorContext.builder(denial.request())
              .cause(denial.cause())
              .errorMessage(denial.message())
              .build();
      MutableHttpResponse<?> answer = process(error, denial, response);
      if (answer.body() instanceof JsonError json && json.getLogref().isEmpty()) {
        json.logref(denial.code());
      }
      return answer;
    }

    /** Micronaut's own format fails for statuses that Micronaut does not know, such as 430. */
    private MutableHttpResponse<?> process(
        ErrorContext error, Denial denial, MutableHttpResponse<?> response) {
      if (Denial.named(denial.status()).isPresent()) {
        return application.get().processResponse(error, response);
      }
      String reason = response.reason();
      return application
          .get()
          .processResponse(error, response.status(HttpStatus.BAD_REQUEST.getCode(), reason))
          .status(denial.status(), reason);
    }
  }

  /**
   * A body for programs. A browser receives the application's error page instead; Micronaut's own
   * processor distinguishes browsers from programs in the same way. HEAD requests receive no body.
   */
  static final class MachineReadableBody implements DenialBody {

    private final DenialBody body;
    private final DenialBodyFactory.ApplicationBody pages;

    MachineReadableBody(DenialBody body, DenialBodyFactory.ApplicationBody pages) {
      this.body = body;
      this.pages = pages;
    }

    @Override
    public MutableHttpResponse<?> write(Denial denial, MutableHttpResponse<?> response) {
      if (denial.request().getMethod() == HttpMethod.HEAD) {
        return response;
      }
      return browser(denial.request())
          ? pages.write(denial, response)
          : body.write(denial, response);
    }

    private static boolean browser(HttpRequest<?> request) {
      return request.accept().stream().anyMatch(MediaType.TEXT_HTML_TYPE::equals)
          && request.accept().stream()
              .noneMatch(type -> type.matchesExtension(MediaType.EXTENSION_JSON));
    }
  }

  /**
   * {@code application/problem+json} as in RFC 9457, with the types of
   * draft-ietf-httpapi-ratelimit-headers. The draft has none for duplicates, which are therefore
   * about:blank with the title of the status, as the RFC requires.
   *
   * <p>Titles are always English, since the registry of the types defines them. The detail is in
   * the language of the request.
   */
  @Internal
  public static final class ProblemBody implements DenialBody {

    private static final String TYPES = "https://iana.org/assignments/http-problem-types#";

    @Override
    public MutableHttpResponse<?> write(Denial denial, MutableHttpResponse<?> response) {
      Map<String, JsonNode> problem = new LinkedHashMap<>();
      switch (denial.verdict().outcome()) {
        case LIMITED -> type(problem, TYPES + "quota-exceeded", "Quota Exceeded");
        case BANNED -> type(problem, TYPES + "abnormal-usage-detected", "Abnormal Usage Detected");
        case UNAVAILABLE ->
            type(problem, TYPES + "temporary-reduced-capacity", "Temporary Reduced Capacity");
        case DUPLICATE, ALLOWED -> type(problem, "about:blank", denial.title());
      }
      problem.put("status", JsonNode.createNumberNode(denial.status()));
      problem.put("detail", JsonNode.createStringNode(denial.message()));
      problem.put("instance", JsonNode.createStringNode(denial.request().getPath()));
      problem.put("code", JsonNode.createStringNode(denial.code()));
      switch (denial.verdict().outcome()) {
        // All types have the member. While the store is away no policy is known to be violated, and
        // a
        // banned subject may no longer violate any.
        case LIMITED, BANNED, UNAVAILABLE ->
            problem.put(
                "violated-policies",
                JsonNode.createArrayNode(
                    denial.violated().stream().map(JsonNode::createStringNode).toList()));
        case DUPLICATE, ALLOWED -> {}
      }
      // A tree keeps what the application's mapper leaves out, such as empty lists.
      return response
          .body(JsonNode.createObjectNode(problem))
          .contentType(MediaType.APPLICATION_JSON_PROBLEM_TYPE);
    }

    private static void type(Map<String, JsonNode> problem, String type, String title) {
      problem.put("type", JsonNode.createStringNode(type));
      problem.put("title", JsonNode.createStringNode(title));
    }
  }

  /** A body with the application's own fields: JSON with any names and nesting. */
  static final class TemplateBody implements DenialBody {

    private final TemplatePart template;

    /**
     * Reads the template once.
     *
     * @throws io.micronaut.context.exceptions.ConfigurationException if a placeholder is unknown,
     *     with property, value and remedy
     */
    TemplateBody(Map<String, @Nullable Object> fields) {
      this.template = TemplatePart.read(TemplateConfiguration.PREFIX, fields);
    }

    @Override
    public MutableHttpResponse<?> write(Denial denial, MutableHttpResponse<?> response) {
      return response.body(template.fill(denial)).contentType(MediaType.APPLICATION_JSON_TYPE);
    }

    /**
     * One parsed value of a template. A text that is a single placeholder is replaced by that value
     * with its JSON type; other texts remain texts.
     */
    @FunctionalInterface
    interface TemplatePart {

      /**
       * The value for one denial. It is a tree, since an application's mapper might leave out
       * nulls.
       */
      JsonNode fill(Denial denial);

      /**
       * Reads a configured value.
       *
       * @param property its property, for messages
       */
      static TemplatePart read(String property, @Nullable Object value) {
        if (value instanceof Map<?, ?> map) {
          Map<String, TemplatePart> fields = new LinkedHashMap<>();
          map.forEach(
              (name, field) ->
                  fields.put(String.valueOf(name), read(property + "." + name, field)));
          return denial -> {
            Map<String, JsonNode> filled = new LinkedHashMap<>();
            fields.forEach((name, field) -> filled.put(name, field.fill(denial)));
            return JsonNode.createObjectNode(filled);
          };
        }
        if (value instanceof List<?> list) {
          List<TemplatePart> items = new ArrayList<>();
          list.forEach(item -> items.add(read(property + "[" + items.size() + "]", item)));
          return denial ->
              JsonNode.createArrayNode(items.stream().map(item -> item.fill(denial)).toList());
        }
        if (value == null || value instanceof Boolean || value instanceof Number) {
          JsonNode constant = node(value);
          return denial -> constant;
        }
        return text(property, value.toString());
      }

      private static TemplatePart text(String property, String value) {
        TextTemplate text;
        try {
          text = TextTemplate.parse(value);
        } catch (IllegalArgumentException e) {
          throw new ConfigurationException(
              "%s = %s: %s".formatted(property, value, e.getMessage()), e);
        }
        Map<String, Denial.Value> values = new LinkedHashMap<>();
        for (String name : text.names()) {
          values.put(
              name,
              Denial.Value.named(name)
                  .orElseThrow(() -> unknownPlaceholder(property, value, name)));
        }
        Denial.Value only = text.only().map(values::get).orElse(null);
        if (only != null) {
          return denial -> node(only.of(denial));
        }
        return denial ->
            JsonNode.createStringNode(
                text.fill(
                    name -> {
                      Denial.Value known = values.get(name);
                      return known == null ? "" : known.text(denial);
                    }));
      }

      private static ConfigurationException unknownPlaceholder(
          String property, String value, String name) {
        return new ConfigurationException(
            "%s = %s: unknown placeholder {%s}: use %s, or write {{ for a brace"
                .formatted(
                    property,
                    value,
                    name,
                    Arrays.stream(Denial.Value.values())
                        .map(known -> "{" + known.placeholder() + "}")
                        .collect(Collectors.joining(", "))));
      }

      private static JsonNode node(@Nullable Object value) {
        if (value == null) {
          return JsonNode.nullNode();
        }
        if (value instanceof Boolean truth) {
          return JsonNode.createBooleanNode(truth);
        }
        if (value instanceof Number number) {
          return JsonNode.createNumberNode(new BigDecimal(number.toString()));
        }
        if (value instanceof List<?> items) {
          return JsonNode.createArrayNode(items.stream().map(TemplatePart::node).toList());
        }
        return JsonNode.createStringNode(value.toString());
      }
    }
  }
}
