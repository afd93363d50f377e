// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.definition;

import io.micronaut.core.annotation.AnnotationMetadata;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.bind.annotation.Bindable;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.CookieValue;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Head;
import io.micronaut.http.annotation.Header;
import io.micronaut.http.annotation.HttpMethodMapping;
import io.micronaut.http.annotation.PathVariable;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.http.annotation.UriMapping;
import io.micronaut.http.uri.UriMatchTemplate;
import io.micronaut.inject.ExecutableMethod;
import java.lang.annotation.Annotation;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Finds the expressions that the head of a request determines: their arguments come from its path,
 * query, header fields or cookies, and they call no bean, no method of the target and no static
 * method, which might block. The gate computes them on the event loop.
 */
@Internal
public final class HeadArguments {

  private static final Set<String> KEYWORDS =
      Set.of(
          "true",
          "false",
          "null",
          "not",
          "and",
          "or",
          "div",
          "mod",
          "matches",
          "instanceof",
          "empty");

  /** Beans, the target, properties and types: code of the application. */
  private static final Set<String> ROOTS = Set.of("ctx", "this", "env", "T");

  /** A text, which has no escapes; a number with its suffix; a name; a sign. */
  private static final Pattern TOKENS =
      Pattern.compile("'[^']*'|\\p{N}[\\p{L}\\p{N}_]*|[\\p{L}_$][\\p{L}\\p{N}_$]*|\\S");

  private static final List<Class<? extends Annotation>> SOURCES =
      List.of(PathVariable.class, QueryValue.class, Header.class, CookieValue.class);

  private HeadArguments() {}

  /**
   * A parameter of a route.
   *
   * @param isPlain whether Micronaut's own converters make its value from a text, as of texts,
   *     numbers and enums; those of other types may be the application's, and may block
   */
  public record Parameter(String name, boolean isPlain, AnnotationMetadata annotations) {}

  /** The positions of an expression's arguments; empty if the head does not determine it. */
  public static Optional<Set<Integer>> of(ExecutableMethod<?, ?> method, String expression) {
    return of(
        method.getAnnotationMetadata(),
        Arrays.stream(method.getArguments())
            .map(
                argument ->
                    new Parameter(
                        argument.getName(),
                        CallExpression.isPlain(argument.getType()),
                        argument.getAnnotationMetadata()))
            .toList(),
        expression);
  }

  /**
   * The positions of an expression's arguments; empty if the head does not determine it.
   *
   * @param route the annotations of the method and its class
   */
  public static Optional<Set<Integer>> of(
      AnnotationMetadata route, List<Parameter> parameters, String expression) {
    if (!route.hasStereotype(HttpMethodMapping.class)) {
      return Optional.empty();
    }
    Set<Integer> used = new TreeSet<>();
    for (String name : names(expression)) {
      int position = position(parameters, name);
      if (position < 0
          || ROOTS.contains(name)
          || !parameters.get(position).isPlain()
          || !isOfHead(route, parameters.get(position))) {
        return Optional.empty();
      }
      used.add(position);
    }
    return Optional.of(used);
  }

  private static int position(List<Parameter> parameters, String name) {
    for (int i = 0; i < parameters.size(); i++) {
      if (parameters.get(i).name().equals(name)) {
        return i;
      }
    }
    return -1;
  }

  /** The names in the braces of an expression, apart from those of properties and methods. */
  private static List<String> names(String expression) {
    List<String> names = new ArrayList<>();
    Matcher tokens = TOKENS.matcher(expression);
    int depth = 0;
    String before = "";
    while (tokens.find()) {
      String token = tokens.group();
      if (depth == 0) {
        depth = before.equals("#") && token.equals("{") ? 1 : 0;
      } else if (token.equals("{") || token.equals("}")) {
        depth += token.equals("{") ? 1 : -1;
      } else if ((Character.isLetter(token.charAt(0)) || token.matches("[_$].*"))
          && !before.equals(".")
          && !KEYWORDS.contains(token)) {
        names.add(token);
      }
      before = token;
    }
    return names;
  }

  private static boolean isOfHead(AnnotationMetadata route, Parameter parameter) {
    Optional<Class<? extends Annotation>> bound =
        parameter.annotations().getAnnotationTypeByStereotype(Bindable.class);
    return bound.isPresent()
        ? SOURCES.contains(bound.get())
        : hasNoBody(route) || isInPath(route, parameter.name());
  }

  private static boolean hasNoBody(AnnotationMetadata route) {
    List<Class<? extends Annotation>> methods =
        route.getAnnotationTypesByStereotype(HttpMethodMapping.class);
    return !methods.isEmpty()
        && methods.stream().allMatch(method -> method == Get.class || method == Head.class);
  }

  /**
   * Whether the path of its class, or each path of its method, has a variable of this name. One of
   * the query, and one that may be left out, has the value of a field of the body then.
   */
  private static boolean isInPath(AnnotationMetadata route, String name) {
    String[] several = route.stringValues(UriMapping.class, "uris");
    List<String> ofMethod =
        several.length > 0
            ? List.of(several)
            : route.stringValue(UriMapping.class).stream().toList();
    return Stream.of(route.stringValue(Controller.class).stream().toList(), ofMethod)
        .anyMatch(
            templates ->
                !templates.isEmpty()
                    && templates.stream()
                        .map(UriMatchTemplate::of)
                        .allMatch(
                            template ->
                                template.getVariables().stream()
                                    .anyMatch(
                                        variable ->
                                            variable.getName().equals(name)
                                                && !variable.isQuery()
                                                && !variable.isOptional())));
  }
}
