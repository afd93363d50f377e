// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import io.limiter.core.util.Sha256;
import io.limiter.micronaut.address.IpAddress;
import io.limiter.micronaut.address.TrustedProxies;
import io.limiter.micronaut.config.CallerConfiguration.AddressConfiguration;
import io.limiter.micronaut.config.CallerConfiguration.BlockConfiguration;
import io.limiter.micronaut.config.CallerConfiguration.ExemptConfiguration;
import io.limiter.micronaut.config.ListedCallers;
import io.limiter.micronaut.config.ListedCallers.Callers;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.micronaut.core.annotation.Internal;
import io.micronaut.http.HttpRequest;
import jakarta.inject.Singleton;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.Principal;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds callers that are exempt from limits, or blocked: by the settings that are in use, and by
 * what was listed at run time.
 */
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
  private final @Nullable ListedCallers listed;
  private final AtomicBoolean proxyListed = new AtomicBoolean();

  CallerLists(
      PoliciesConfiguration settings,
      ClientAddress address,
      AddressConfiguration configuration,
      @Nullable ListedCallers listed) {
    this.settings = settings;
    this.address = address;
    this.listed = listed;
    this.proxies = configuration.proxies();
  }

  /** Whether no rule limits the caller of this request. */
  public boolean isExempt(HttpRequest<?> request) {
    Optional<ExemptConfiguration> exempt = settings.current().exempt();
    Callers now = listed == null ? null : listed.exempt();
    return isUserIn(now, request)
        || isAddressIn(now, request)
        || (exempt.isPresent()
            && (isIn(exempt.get().users(), request)
                || isIn(exempt.get().addresses(), request, ExemptConfiguration.PREFIX)
                || hasToken(exempt.get(), request)));
  }

  /** Whether any caller is blocked. */
  public boolean isAnyBlocked() {
    return settings.block() != null || blocked() != null;
  }

  /** Whether the client of this request is blocked by its address. */
  public boolean isAddressBlocked(HttpRequest<?> request) {
    BlockConfiguration block = settings.block();
    return (block != null && isIn(block.addresses(), request, BlockConfiguration.PREFIX))
        || isAddressIn(blocked(), request);
  }

  /** Whether the user of this request is blocked. */
  public boolean isUserBlocked(HttpRequest<?> request) {
    BlockConfiguration block = settings.block();
    return (block != null && isIn(block.users(), request)) || isUserIn(blocked(), request);
  }

  private @Nullable Callers blocked() {
    return listed == null ? null : listed.blocked();
  }

  /**
   * Whether this names the caller of a request.
   *
   * @param user the name of a principal; empty if addresses are meant
   */
  public boolean names(TrustedProxies addresses, String user, HttpRequest<?> request) {
    return user.isEmpty() ? contains(addresses, client(request)) : isIn(Set.of(user), request);
  }

  private static boolean isUserIn(@Nullable Callers now, HttpRequest<?> request) {
    return now != null
        && request.getUserPrincipal().map(Principal::getName).filter(now::hasUser).isPresent();
  }

  private boolean isAddressIn(@Nullable Callers now, HttpRequest<?> request) {
    if (now == null || !now.hasAddresses()) {
      return false;
    }
    IpAddress client = client(request);
    boolean isListed = client == null ? now.hasUnixSockets() : now.hasAddress(client);
    if (isListed) {
      warnOfProxy(client, "What was listed at run time");
    }
    return isListed;
  }

  private static boolean contains(TrustedProxies networks, @Nullable IpAddress client) {
    return client == null ? networks.trustUnixSockets() : networks.trust(client);
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
    if (!contains(networks, client)) {
      return false;
    }
    warnOfProxy(client, list + ".addresses");
    return true;
  }

  private void warnOfProxy(@Nullable IpAddress client, String list) {
    if (client != null && proxies.trust(client) && proxyListed.compareAndSet(false, true)) {
      LOG.warn(
          "{} contains the address of a trusted proxy, and a request has no other client: all requests that the proxy forwards without naming their client are affected. Remove the proxy from the list",
          list);
    }
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
    byte[] digest = Sha256.digest().digest(token.getBytes(StandardCharsets.UTF_8));
    boolean found = false;
    for (byte[] known : exempt.tokens()) {
      found |= MessageDigest.isEqual(known, digest); // all of them, in constant time
    }
    return found;
  }
}
