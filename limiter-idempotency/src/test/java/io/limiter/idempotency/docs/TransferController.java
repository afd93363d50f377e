// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency.docs;

import io.limiter.idempotency.Idempotent;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Introspected;
import io.micronaut.core.annotation.Order;
import io.micronaut.http.HttpAttributes;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ServerFilter;
import java.nio.charset.StandardCharsets;
import java.security.Principal;
import java.util.Base64;
import java.util.Map;

/** As in the guide to keys. */
@Controller
@Requires(property = "spec.name", value = "keys-docs")
class TransferController {

  @Introspected
  record Transfer(int number, String item) {}

  @Post("/transfers")
  @Idempotent
  @RateRule(count = 100)
  HttpResponse<Transfer> transfer(@Body Transfer transfer) {
    return HttpResponse.created(transfer);
  }

  @Post("/refunds")
  @Idempotent(header = "X-Api-Key", retain = "7d")
  Transfer refund(@Body Transfer refund) {
    return refund;
  }

  @Post("/exports")
  @Idempotent(retain = "")
  String export(@Body Transfer transfer) {
    return "exported";
  }

  @Post("/replayed")
  @Idempotent(retain = "24h")
  String replayed(@Body Map<String, String> order) {
    return "replayed";
  }

  /** Limited and repeated by nothing but settings. */
  @Post("/payments/by-card")
  Transfer pay(@Body Transfer payment) {
    return payment;
  }

  /** Authenticates every user name of basic authentication. */
  @ServerFilter(ServerFilter.MATCH_ALL_PATTERN)
  @Requires(property = "spec.name", value = "keys-docs")
  static class LogIn {

    @RequestFilter
    @Order(39_000)
    void logIn(HttpRequest<?> request) {
      request
          .getHeaders()
          .getAuthorization()
          .map(given -> Base64.getDecoder().decode(given.replace("Basic ", "")))
          .map(given -> new String(given, StandardCharsets.UTF_8))
          .map(given -> given.substring(0, given.indexOf(':')))
          .ifPresent(
              name -> request.setAttribute(HttpAttributes.PRINCIPAL, (Principal) () -> name));
    }
  }
}
