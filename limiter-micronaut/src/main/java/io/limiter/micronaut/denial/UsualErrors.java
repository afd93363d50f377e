// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.micronaut.context.BeanContext;
import io.micronaut.context.event.BeanCreatedEventListener;
import io.micronaut.core.type.Argument;
import io.micronaut.core.version.VersionUtils;
import io.micronaut.http.body.MessageBodyWriter;
import io.micronaut.http.hateoas.JsonError;
import io.micronaut.http.server.exceptions.response.ErrorResponseProcessor;
import io.micronaut.http.server.exceptions.response.JsonErrorResponseBodyProvider;
import io.micronaut.inject.BeanDefinition;
import io.micronaut.json.JsonConfiguration;
import io.micronaut.json.JsonMapper;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The shape of Micronaut's {@link JsonError}. It depends on the module that is the JSON mapper, but
 * not on settings of the mapper.
 */
final class UsualErrors {

  /** Of micronaut-serde, which writes links as a list, too, where errors are one. */
  private static final String SERDE = "io.micronaut.serde.jackson";

  private static final String MICRONAUT = "io.micronaut.";

  private static final String DATABIND = "io.micronaut.jackson.databind";

  private UsualErrors() {}

  /** Empty if errors, or their JSON, are made by a class of the application. */
  static Optional<JsonTemplate> template(ErrorResponseProcessor<?> processor, BeanContext beans) {
    String mapper = mapper(beans);
    if (!isUsual(processor, beans) || !List.of(SERDE, DATABIND).contains(mapper)) {
      return Optional.empty();
    }
    boolean list =
        beans
            .findBean(JsonConfiguration.class)
            .map(JsonConfiguration::isAlwaysSerializeErrorsAsList)
            .orElse(true);
    return Optional.of(new JsonTemplate(members(mapper.equals(SERDE), list)));
  }

  private static boolean isUsual(ErrorResponseProcessor<?> processor, BeanContext beans) {
    return Stream.concat(
            Stream.of(processor),
            beans.getBeansOfType(JsonErrorResponseBodyProvider.class).stream())
        .map(part -> part.getClass().getPackageName())
        .allMatch(ErrorResponseProcessor.class.getPackageName()::equals);
  }

  /**
   * The package of the mapper that encodes errors; empty if a class of the application does. Only
   * definitions are looked at: a mapper takes long to create, and a service that writes no JSON has
   * no other need for one.
   */
  private static String mapper(BeanContext beans) {
    return takesPart(beans, MessageBodyWriter.class, JsonError.class)
            || takesPart(beans, BeanCreatedEventListener.class, JsonMapper.class)
        ? ""
        : beans
            .findBeanDefinition(JsonMapper.class)
            .filter(UsualErrors::isMicronauts)
            .map(mapper -> mapper.getBeanType().getPackageName())
            .orElse("");
  }

  /** Whether the application has such a part for this type. */
  private static boolean takesPart(BeanContext beans, Class<?> part, Class<?> type) {
    for (BeanDefinition<?> bean : beans.getBeanDefinitions(part)) {
      List<Argument<?>> of = bean.getTypeArguments(part);
      if (!isMicronauts(bean) && (of.isEmpty() || of.get(0).getType().isAssignableFrom(type))) {
        return true;
      }
    }
    return false;
  }

  /** A bean of a factory may be of any class: its factory counts. */
  private static boolean isMicronauts(BeanDefinition<?> bean) {
    Class<?> type = bean.getBeanType();
    return bean.getDeclaringType().map(Class::getName).orElse(type.getName()).startsWith(MICRONAUT);
  }

  /**
   * @param list whether an error has a list of errors, and not a message of its own
   */
  private static Map<String, @Nullable Object> members(boolean serde, boolean list) {
    JsonTemplate.Part uri = rejection -> rejection.request().getUri().toString();
    Object link = JsonTemplate.object("href", uri, "templated", false);
    Object error = JsonTemplate.object("message", Denial.Value.MESSAGE);
    Map<String, @Nullable Object> all =
        JsonTemplate.object(
            "message",
            list ? Denial.Value.TITLE : Denial.Value.MESSAGE,
            "logref",
            Denial.Value.CODE,
            "_links",
            JsonTemplate.object("self", serde && list ? List.of(link) : link),
            "_embedded",
            JsonTemplate.object("errors", List.of(error)));
    Map<String, @Nullable Object> ordered = new LinkedHashMap<>();
    for (String name : order(serde)) {
      if (list || !name.equals("_embedded")) {
        ordered.put(name, all.get(name));
      }
    }
    return ordered;
  }

  private static List<String> order(boolean serde) {
    if (serde) {
      return List.of("_links", "_embedded", "message", "logref");
    }
    // Jackson 3 sorts members by name, but those that a constructor has go first.
    return VersionUtils.isAtLeastMicronautVersion("5.0.0")
        ? List.of("message", "_embedded", "_links", "logref")
        : List.of("message", "logref", "_links", "_embedded");
  }
}
