// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.PeriodAnchor;
import io.micronaut.http.HttpRequest;
import jakarta.inject.Named;
import jakarta.inject.Singleton;
import java.time.LocalDate;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

@Singleton
@Named("billing-day")
class BillingDay implements PeriodAnchor {

  private final Map<String, LocalDate> since = new ConcurrentHashMap<>();

  @Override
  public LocalDate anchor(String subject, Optional<HttpRequest<?>> request) {
    return since.getOrDefault(subject, LocalDate.of(2024, 1, 1));
  }
}
