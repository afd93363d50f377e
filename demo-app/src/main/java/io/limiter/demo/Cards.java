// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.limiter.core.rule.Rule;
import io.limiter.micronaut.plan.LimitPolicies;
import io.limiter.micronaut.plan.LimitedPolicy;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The methods that the page shows, each with its annotation as the source has it: the build copies
 * the controllers' sources into the directory {@code sources} of the classpath.
 */
@Singleton
@Requires(missingProperty = Instances.BESIDE)
final class Cards {

  private static final String SOURCE = "/sources/io/limiter/demo/%s.java";

  private static final Pattern POLICY_METHOD = Pattern.compile("\\.(\\w+)\\.(\\w+)\\(");

  private static final Map<String, String> METHODS =
      Map.ofEntries(
          Map.entry("ArticleController.list", "articles"),
          Map.entry("SmsController.send", "sms"),
          Map.entry("OrderController.place", "orders"),
          Map.entry("CheckoutController.checkOut", "checkout"),
          Map.entry("CheckoutController.pay", "payment"),
          Map.entry("ReportController.report", "reports"),
          Map.entry("ReportController.feed", "feed"),
          Map.entry("MeController.me", "me"),
          Map.entry("AccountController.account", "account"),
          Map.entry("PartnerController.list", "partners"),
          Map.entry("SearchController.find", "search"),
          Map.entry("QuotaController.use", "quota"),
          Map.entry("GlobalController.answer", "global"),
          Map.entry("HotController.answer", Flood.HOT),
          Map.entry("DatabaseController.ask", "database"),
          Map.entry("ItemController.list", "items"),
          Map.entry("SlowController.slow", "slow"),
          Map.entry("LoginController.logIn", "login"),
          Map.entry("ExportController.export", "export"),
          Map.entry("LlmController.complete", "llm"),
          Map.entry("FreeController.ok", "free"),
          Map.entry("AlgorithmsController.log", "log"),
          Map.entry("AlgorithmsController.window", "window"),
          Map.entry("AlgorithmsController.bucket", "bucket"),
          Map.entry("AlgorithmsController.leaky", "leaky"));

  private final LimitPolicies policies;

  Cards(LimitPolicies policies) {
    this.policies = policies;
  }

  /**
   * The card of a method.
   *
   * @param method its class, name and parameter types, as policies have it
   */
  static Optional<String> of(String method) {
    Matcher found = POLICY_METHOD.matcher(method);
    return found.find()
        ? Optional.ofNullable(METHODS.get(found.group(1) + '.' + found.group(2)))
        : Optional.empty();
  }

  /** All cards by their names: the source, and the policy with its rules. */
  Map<String, Object> all() {
    Map<String, LimitedPolicy> limited = new LinkedHashMap<>();
    for (String name : policies.names()) {
      LimitedPolicy policy = policies.get(name);
      policy.methods().forEach(method -> of(method).ifPresent(card -> limited.put(card, policy)));
    }
    Map<String, Object> cards = new LinkedHashMap<>();
    METHODS.forEach((method, card) -> cards.put(card, view(method, limited.get(card))));
    return cards;
  }

  private static Map<String, Object> view(String method, @Nullable LimitedPolicy policy) {
    String[] parts = method.split("\\.", 2);
    Map<String, Object> view = new LinkedHashMap<>();
    view.put("file", parts[0] + ".java");
    view.put("source", source(parts[0], parts[1]));
    if (policy != null) {
      view.put("policy", policy.name());
      view.put(
          "rules",
          policy.limits().stream()
              .flatMap(limit -> limit.rules().stream())
              .map(Cards::rule)
              .toList());
    }
    return view;
  }

  /** What the page draws of a rule. */
  static Map<String, Object> rule(Rule rule) {
    return Map.of(
        "name", rule.name(),
        "of", rule.capacity(),
        "kind", rule.getClass().getSimpleName(),
        "windowMs", rule.window().toMillis());
  }

  /** The annotations of a method and its signature, without what only the compiler reads. */
  static String source(String type, String method) {
    List<String> lines = read(SOURCE.formatted(type)).lines().toList();
    Pattern signature = Pattern.compile("^  [^@/*].*\\b" + method + "\\(.*");
    int end = 0;
    while (!signature.matcher(lines.get(end)).matches()) {
      end++;
    }
    int begin = end;
    while (!lines.get(begin - 1).isBlank()) {
      begin--;
    }
    while (!lines.get(end).endsWith("{")) {
      end++;
    }
    List<String> cut = new ArrayList<>();
    for (String line : lines.subList(begin, end + 1)) {
      if (!line.startsWith("  @SuppressWarnings") && !line.startsWith("  //")) {
        cut.add(line.substring(2));
      }
    }
    return String.join("\n", cut).replaceFirst(" \\{$", "");
  }

  /** A text file of the classpath. */
  static String read(String path) {
    try (InputStream file = Cards.class.getResourceAsStream(path)) {
      if (file == null) {
        throw new IllegalStateException(path + " is not on the classpath: build with Maven");
      }
      return new String(file.readAllBytes(), UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
