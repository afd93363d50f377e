// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.micronaut.context.BeanContext;
import io.micronaut.context.BeanProvider;
import io.micronaut.context.event.BeanCreatedEvent;
import io.micronaut.context.event.BeanCreatedEventListener;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.server.HttpServerConfiguration;
import io.micronaut.http.server.RouteExecutor;
import io.micronaut.http.server.exceptions.response.ErrorResponseProcessor;
import jakarta.inject.Singleton;

/**
 * Lets {@link LimitedResponseFilter} see the errors that the server makes when all filters have
 * run: of a body that cannot be encoded, or of a stream that fails before its first item. The
 * application's processor remains the bean that it is.
 */
@Singleton
final class LateErrors implements BeanCreatedEventListener<RouteExecutor> {

  private final BeanContext beans;
  private final BeanProvider<LimitedResponseFilter> filter;

  LateErrors(BeanContext beans, BeanProvider<LimitedResponseFilter> filter) {
    this.beans = beans;
    this.filter = filter;
  }

  @Override
  public RouteExecutor onCreated(BeanCreatedEvent<RouteExecutor> event) {
    RouteExecutor server = event.getBean();
    return new RouteExecutor(
        server.getRouter(),
        beans,
        server.getRequestArgumentSatisfier(),
        beans.getBean(HttpServerConfiguration.class),
        seen(server.getErrorResponseProcessor()),
        server.getExecutorSelector());
  }

  private <T> ErrorResponseProcessor<T> seen(ErrorResponseProcessor<T> applications) {
    return (error, response) -> {
      MutableHttpResponse<T> answer = applications.processResponse(error, response);
      filter.get().failedLate(error.getRequest(), answer);
      return answer;
    };
  }
}
