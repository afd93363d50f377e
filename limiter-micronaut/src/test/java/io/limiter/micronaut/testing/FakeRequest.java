// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.testing;

import io.micronaut.core.convert.ConversionService;
import io.micronaut.http.HttpHeaders;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpRequestWrapper;
import io.micronaut.http.netty.NettyHttpHeaders;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import java.security.Principal;
import java.util.Optional;

/**
 * A request without a server, with the headers of the real one. They are not checked: no server is
 * a reason to trust what comes in them.
 */
public class FakeRequest extends HttpRequestWrapper<Object> {

  private final DefaultHttpHeaders lines = new DefaultHttpHeaders(false);
  private Optional<Principal> principal = Optional.empty();

  public FakeRequest() {
    super(HttpRequest.GET("/"));
  }

  /** One more line of a header. */
  public FakeRequest header(String name, String value) {
    lines.add(name, value);
    return this;
  }

  /** Somebody is logged in. */
  public FakeRequest user(String name) {
    principal = Optional.of(() -> name);
    return this;
  }

  @Override
  public HttpHeaders getHeaders() {
    return new NettyHttpHeaders(lines, ConversionService.SHARED);
  }

  @Override
  public Optional<Principal> getUserPrincipal() {
    return principal;
  }
}
