// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import io.limiter.micronaut.address.IpAddress;
import io.limiter.micronaut.address.TrustedProxies;
import io.limiter.micronaut.config.CallerConfiguration.AddressConfiguration;
import io.limiter.micronaut.config.CallerConfiguration.BlockConfiguration;
import io.limiter.micronaut.config.CallerConfiguration.ExemptConfiguration;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.micronaut.core.annotation.Internal;
import io.micronaut.http.HttpRequest;
import jakarta.inject.Singleton;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.Principal;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Finds callers that are exempt from limits, or blocked, by the settings that are in use. */
@Internal
@Singleton
public final class CallerLists {

  private static final Logger LOG = LoggerFactory.getLogger(CallerLists.class);

  /** 128 bits in base64. */
  private static final int MIN_TOKEN = 22;

  private static final int MAX_TOKEN = 512;

  private final PoliciesConfiguration settings;
  private final ClientAddress address;
  private final TrustedProxies proxies;
  private final AtomicBoolean proxyListed = new AtomicBoolean();

  CallerLists(
      PoliciesConfiguration settings, ClientAddress address, AddressConfiguration configuration) {
    this.settings = settings;
    this.address = address;
    this.proxies = configuration.proxies();
  }

  /** Whether no rule limits the caller of this request. */
  public boolean isExempt(HttpRequest<?> request) {
    Optional<ExemptConfiguration> exempt = settings.current().exempt();
    return exempt.isPresent()
        && (isIn(exempt.get().users(), request)
            || isIn(exempt.get().addresses(), request, ExemptConfiguration.PREFIX)
            || hasToken(exempt.get(), request));
  }

  /** Whether the client of this request is blocked by its address. */
  public boolean isAddressBlocked(BlockConfiguration block, HttpRequest<?> request) {
    return isIn(block.addresses(), request, BlockConfiguration.PREFIX);
  }

  /** Whether the user of this request is blocked. */
  public boolean isUserBlocked(BlockConfiguration block, HttpRequest<?> request) {
    return isIn(block.users(), request);
  }

  private static boolean isIn(Set<String> users, HttpRequest<?> request) {
    return !users.isEmpty()
        && request.getUserPrincipal().map(Principal::getName).filter(users::contains).isPresent();
  }

  private boolean isIn(TrustedProxies networks, HttpRequest<?> request, String list) {
    if (networks.isEmpty()) {
      return false;
    }
    IpAddress client = client(request);
    if (client == null) {
      return networks.trustUnixSockets();
    }
    if (!networks.trust(client)) {
      return false;
    }
    if (proxies.trust(client) && proxyListed.compareAndSet(false, true)) {
      LOG.warn(
          "{}.addresses contains the address of a trusted proxy, and a request has no other client: all requests that the proxy forwards without naming their client are affected. Remove the proxy from the list",
          list);
    }
    return true;
  }

  private @Nullable IpAddress client(HttpRequest<?> request) {
    if (address instanceof CallerAddress own) {
      return own.client(request);
    }
    String text = address.of(request);
    int prefix = text.indexOf('/'); // a network of IPv6
    return IpAddress.parse(prefix < 0 ? text : text.substring(0, prefix));
  }

  private static boolean hasToken(ExemptConfiguration exempt, HttpRequest<?> request) {
    if (exempt.tokens().isEmpty()) {
      return false;
    }
    String token = request.getHeaders().get(exempt.header());
    if (token == null || token.length() < MIN_TOKEN || token.length() > MAX_TOKEN) {
      return false;
    }
    byte[] digest = sha256(token);
    boolean found = false;
    for (byte[] known : exempt.tokens()) {
      found |= MessageDigest.isEqual(known, digest); // all of them, in constant time
    }
    return found;
  }

  private static byte[] sha256(String token) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(token.getBytes(StandardCharsets.UTF_8));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("Every Java platform has SHA-256", e);
    }
  }
}
