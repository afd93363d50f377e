// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.micronaut.config.CallerConfiguration.BlockConfiguration;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.limiter.micronaut.subject.CallerLists;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.annotation.Order;
import io.micronaut.core.order.Ordered;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.http.exceptions.HttpStatusException;
import io.micronaut.http.filter.ConditionalFilter;

/**
 * Rejects the requests of blocked callers: by address before all other filters, whatever they ask
 * for; by user behind security.
 */
@Internal
@ServerFilter(ServerFilter.MATCH_ALL_PATTERN)
final class BlockFilter implements ConditionalFilter {

  private final PoliciesConfiguration settings;
  private final CallerLists lists;

  BlockFilter(PoliciesConfiguration settings, CallerLists lists) {
    this.settings = settings;
    this.lists = lists;
  }

  @Override
  public boolean isEnabled(HttpRequest<?> request) {
    return settings.current().block().isPresent();
  }

  @RequestFilter
  @Order(Ordered.HIGHEST_PRECEDENCE)
  void byAddress(HttpRequest<?> request) {
    settings
        .current()
        .block()
        .filter(block -> lists.isAddressBlocked(block, request))
        .ifPresent(BlockFilter::reject);
  }

  @RequestFilter
  @Order(GateFilter.ORDER - 1)
  void byUser(HttpRequest<?> request) {
    settings
        .current()
        .block()
        .filter(block -> lists.isUserBlocked(block, request))
        .ifPresent(BlockFilter::reject);
  }

  private static void reject(BlockConfiguration block) {
    throw new HttpStatusException(HttpStatus.valueOf(block.getStatus()), block.getMessage());
  }
}
