// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import static io.limiter.micronaut.testing.Sources.properties;
import static io.limiter.micronaut.testing.Sources.yaml;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.env.PropertySource;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A template is what was written: its names, its order, its types. */
class TemplateConfigurationTest {

  private static final String YAML =
      """
      limiter:
        denial:
          body: template
          template:
            errCode: "{code}"
            ErrMsg: "{message}"
            is_ok: false
            X-Trace: null
            "Ключ 1": 7
            data:
              retryAfterSeconds: "{retryAfter}"
              rules: ["{violated}", {ruleName: "{policy}", "a.b[0]": 1.5}]
              none: []
              nothing: {}
            AAA: ${test.word}
      """;

  @Test
  void namesOrderAndTypesOfAYamlFileAreKept() {
    Map<String, Object> fields = fields(yaml(YAML), Map.of("test.word", "resolved")).orElseThrow();

    assertThat(fields.keySet())
        .containsExactly("errCode", "ErrMsg", "is_ok", "X-Trace", "Ключ 1", "data", "AAA");
    assertThat(fields)
        .containsEntry("errCode", "{code}")
        .containsEntry("is_ok", false)
        .containsEntry("X-Trace", null)
        .containsEntry("Ключ 1", 7)
        .containsEntry("AAA", "resolved")
        .containsEntry(
            "data",
            Map.of(
                "retryAfterSeconds", "{retryAfter}",
                "rules", List.of("{violated}", Map.of("ruleName", "{policy}", "a.b[0]", 1.5)),
                "none", List.of(),
                "nothing", Map.of()));
    assertThat(((Map<?, ?>) fields.get("data")).keySet())
        .asString()
        .isEqualTo("[retryAfterSeconds, rules, none, nothing]");
  }

  @Test
  void namesOfAPropertiesFileAreKept() {
    Map<String, Object> source =
        properties(
            """
            limiter.denial.body=template
            limiter.denial.template.errCode={code}
            limiter.denial.template.data.user_id={policy}
            limiter.denial.template.data.rows[1].ruleName=second
            limiter.denial.template.data.rows[0].ruleName=first
            limiter.denial.template.grid[0][0]=x
            """);

    assertThat(fields(source).orElseThrow())
        .isEqualTo(
            Map.of(
                "errCode",
                "{code}",
                "data",
                Map.of(
                    "user_id",
                    "{policy}",
                    "rows",
                    List.of(Map.of("ruleName", "first"), Map.of("ruleName", "second"))),
                "grid",
                List.of(List.of("x"))));
  }

  @Test
  void namesOfMapsAreKeptHoweverDeepTheyAreGiven() {
    Map<String, Object> whole = Map.of("errCode", "{code}", "data", Map.of("user_id.x", 1));
    Map<String, Object> body = Map.of("limiter.denial.body", "template");

    assertThat(
            fields(
                body,
                Map.of(
                    "limiter.denial.template.errCode",
                    "{code}",
                    "limiter.denial.template.data",
                    Map.of("user_id.x", 1))))
        .contains(whole);
    assertThat(fields(body, Map.of("limiter.denial.template", whole))).contains(whole);
    assertThat(fields(Map.of("limiter.denial", Map.of("body", "template", "template", whole))))
        .contains(whole);
  }

  @Test
  void aLaterSourceReplacesFieldsWhereTheyStand() {
    Map<String, Object> fields =
        fields(
                yaml(YAML),
                Map.of("test.word", "resolved"),
                Map.of(
                    "limiter.denial.template.ErrMsg",
                    "other",
                    "limiter.denial.template.data.added",
                    true))
            .orElseThrow();

    assertThat(fields.keySet()).startsWith("errCode", "ErrMsg", "is_ok");
    assertThat(fields).containsEntry("ErrMsg", "other");
    assertThat((Map<?, ?>) fields.get("data")).hasSize(5);
    assertThat(((Map<?, ?>) fields.get("data")).get("added")).isEqualTo(true);
  }

  @Test
  void withoutOneThereIsNone() {
    assertThat(fields(Map.of("limiter.denial.code", "x", "limiter.max-count", 5))).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "limiter.denial.template=text|limiter.denial.template = text: it is not a group of fields: name each field of the body",
        "limiter.denial.template[0]=x|limiter.denial.template = [0]: the body cannot be a list: name its fields",
        "limiter.denial.template.a=x;limiter.denial.template.a.b=y|limiter.denial.template.a = x: it is a value and a group of fields as well: remove one of them",
        "limiter.denial.template.a.b=y;limiter.denial.template.a=x|limiter.denial.template.a = x: it is a value and a group of fields as well: remove one of them",
        "limiter.denial.template.a[1]=x|limiter.denial.template.a = [1]: there is no item [0]: number the items of a list from 0",
        "limiter.denial.template.a[0]=x;limiter.denial.template.a.b=y|limiter.denial.template.a = [0, b]: there is no item [1]: number the items of a list from 0"
      })
  void anInvalidTemplateStopsTheStart(String properties, String mistake) {
    Map<String, Object> settings = new LinkedHashMap<>(Map.of("limiter.denial.body", "template"));
    for (String property : properties.split(";")) {
      settings.put(property.split("=")[0], property.split("=")[1]);
    }

    assertThat(Starts.mistake(settings)).hasMessageContaining(mistake);
  }

  @SafeVarargs
  private static Optional<Map<String, Object>> fields(Map<String, Object>... sources) {
    PropertySource[] all =
        Arrays.stream(sources)
            .map(
                source ->
                    PropertySource.of("s" + source.hashCode(), source, order(source, sources)))
            .toArray(PropertySource[]::new);
    try (ApplicationContext context = ApplicationContext.builder().propertySources(all).start()) {
      return context.getBean(TemplateConfiguration.class).fields();
    }
  }

  private static int order(Map<String, Object> source, Map<String, Object>[] sources) {
    return Arrays.asList(sources).indexOf(source);
  }
}
