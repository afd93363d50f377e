// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import io.micronaut.http.HttpHeaders;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.exceptions.HttpStatusException;
import java.net.URI;
import java.util.Set;

/**
 * Who may change or start something: people at the demo's own machine, by curl or by the demo's own
 * page. The demo listens on all addresses, and any site in a browser may send requests to
 * localhost.
 */
final class Here {

  private static final Set<String> NAMES = Set.of("localhost", "127.0.0.1", "[::1]");

  /** The values of {@code Sec-Fetch-Site} for requests that no other site has caused. */
  private static final Set<String> OWN_SITES = Set.of("same-origin", "none");

  private Here() {}

  /**
   * Rejects requests from other machines, and from pages of other sites.
   *
   * @throws HttpStatusException 403
   */
  static void require(HttpRequest<?> request) {
    if (!isLoopback(request)) {
      throw new HttpStatusException(HttpStatus.FORBIDDEN, "Only from the demo's own machine");
    }
    if (!isNamed(request) || isForeign(request)) {
      throw new HttpStatusException(
          HttpStatus.FORBIDDEN,
          "Only from the demo's own page: open it by localhost or 127.0.0.1, not by another name");
    }
  }

  /** Whether {@link #require} admits the request. */
  static boolean is(HttpRequest<?> request) {
    return isLoopback(request) && isNamed(request) && !isForeign(request);
  }

  /** By the address of the connection, which no header changes. */
  static boolean isLoopback(HttpRequest<?> request) {
    return request.getRemoteAddress().getAddress().isLoopbackAddress();
  }

  /** A name of another site that resolves to this machine makes its pages the demo's own origin. */
  private static boolean isNamed(HttpRequest<?> request) {
    String host = request.getHeaders().get(HttpHeaders.HOST);
    return host == null || NAMES.contains(host.replaceFirst(":\\d+$", ""));
  }

  /** Whether the page of another site has sent the request. Programs send no such fields. */
  static boolean isForeign(HttpRequest<?> request) {
    String site = request.getHeaders().get("Sec-Fetch-Site");
    if (site != null && !OWN_SITES.contains(site)) {
      return true;
    }
    String origin = request.getHeaders().get(HttpHeaders.ORIGIN);
    return origin != null && !isOwn(origin, request.getHeaders().get(HttpHeaders.HOST));
  }

  private static boolean isOwn(String origin, String host) {
    try {
      return URI.create(origin).getRawAuthority().equals(host);
    } catch (IllegalArgumentException | NullPointerException opaque) { // "null" has no authority
      return false;
    }
  }
}
