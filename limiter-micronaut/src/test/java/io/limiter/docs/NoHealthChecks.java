// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.LimitCondition;
import io.micronaut.http.HttpRequest;
import jakarta.inject.Named;
import jakarta.inject.Singleton;

@Singleton
@Named("no-health-checks")
class NoHealthChecks implements LimitCondition {

  @Override
  public boolean limits(HttpRequest<?> request) {
    return !request.getPath().startsWith("/health");
  }
}
