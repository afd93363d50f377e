// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import static java.util.stream.Collectors.joining;

import io.lettuce.core.RedisURI;
import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.config.RedisConfiguration;
import io.limiter.micronaut.definition.PolicyMember;
import io.micronaut.configuration.lettuce.DefaultRedisConfiguration;
import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.condition.Condition;
import io.micronaut.context.condition.ConditionContext;
import io.micronaut.context.env.Environment;
import io.micronaut.context.env.PropertySource.PropertyConvention;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.bind.annotation.Bindable;
import io.micronaut.core.naming.NameUtils;
import io.micronaut.core.util.StringUtils;
import jakarta.inject.Singleton;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Where Redis is. If micronaut-redis is on the class path, its bean has the settings under {@code
 * redis}, and what the application has changed in it holds; otherwise {@link Settings} binds those
 * that the limiter needs.
 *
 * @param server a server, or the sentinels that name one
 * @param nodes nodes of a Redis Cluster; if there are any, they are used instead
 */
record RedisAddress(RedisURI server, List<RedisURI> nodes) {

  private static final Logger LOG = LoggerFactory.getLogger(RedisAddress.class);

  private static final String PREFIX = "redis";

  private static final String SERVER = "redis.uri";

  private static final String NODES = "redis.uris";

  private static final List<String> SEVERAL = List.of(NODES, "redis.replica-uris");

  private static final Pattern CREDENTIALS =
      Pattern.compile("^([A-Za-z][\\w+.-]*://)?.*@", Pattern.DOTALL);

  /** What may be a password without the {@code @} behind it: no port follows the colon. */
  private static final Pattern UNFINISHED =
      Pattern.compile(
          "^([A-Za-z][\\w+.-]*://)?+[^/?#\\[]*:(?!\\d{1,5}(?:[/?#,]|$)|$).*", Pattern.DOTALL);

  private static final Pattern HOST_AND_PORT =
      Pattern.compile("[A-Za-z0-9][A-Za-z0-9.-]*:[0-9]{1,5}");

  private static final Pattern HOST_WITH_PORT = Pattern.compile("[^:]*:\\d+");

  /** The most characters of an address in a message. */
  private static final int SHOWN = 200;

  private static RedisAddress of(
      RedisURI server, List<RedisURI> nodes, @Nullable String clientName) {
    if (clientName != null) {
      nodes.forEach(node -> node.setClientName(clientName));
    }
    return new RedisAddress(server, nodes);
  }

  /**
   * Reads an address. Lettuce's errors do not name the property, and quote the password.
   *
   * @throws ConfigurationException naming the property, the address without its credentials, and
   *     the remedy
   */
  private static RedisURI read(String setting, String written) {
    String uri = written.strip();
    RedisURI read;
    try {
      read = RedisURI.create(new URI(uri));
    } catch (URISyntaxException | IllegalArgumentException unusable) {
      throw new ConfigurationException(
          "%s = %s: this is not the address of a Redis: write its scheme, host and port, such as redis://%s, or rediss:// for TLS"
              .formatted(
                  setting,
                  shown(uri),
                  HOST_AND_PORT.matcher(uri).matches() ? uri : "localhost:6379"));
    }
    // Java finds no host with an underscore in a URI, and Lettuce takes the port for a part of it.
    if (read.getHost() != null && HOST_WITH_PORT.matcher(read.getHost()).matches()) {
      throw new ConfigurationException(
          "%s = %s: a host in an address has letters, digits, hyphens and dots: name it otherwise, or set redis.host and redis.port instead"
              .formatted(setting, shown(uri)));
    }
    // Of redis://ann:s#cret@cache Java takes what is before the # for the host.
    if (read.getHost() != null
        && read.getHost().indexOf(':') >= 0
        && !read.getHost().startsWith("[")) {
      throw new ConfigurationException(
          "%s = %s: its host would have a colon: write the password with @ behind it, with %%23 for # and %%3F for ? in it, and one host"
              .formatted(setting, shown(uri)));
    }
    if (read.getDatabase() != 0 && SEVERAL.stream().anyMatch(setting::startsWith)) {
      throw new ConfigurationException(
          "%s = %s: a Redis Cluster has no database %s: remove the number"
              .formatted(setting, shown(uri), read.getDatabase()));
    }
    return read;
  }

  private static List<RedisURI> read(String setting, List<String> written) {
    return IntStream.range(0, written.size())
        .mapToObj(i -> read("%s[%s]".formatted(setting, i), written.get(i)))
        .toList();
  }

  private static String shown(String uri) {
    String hidden = CREDENTIALS.matcher(uri).replaceFirst("$1***@");
    return LogThrottle.oneLine(
        hidden.equals(uri) ? UNFINISHED.matcher(uri).replaceFirst("$1***") : hidden, SHOWN);
  }

  /**
   * Whether the limiter is to count in Redis: it is enabled, and settings name a Redis. Others do
   * not name one: with {@code redis.timeout} alone, micronaut-redis would connect to localhost. Nor
   * does the variable {@code REDIS_URIS_PORT} of a pod, and nothing reads {@code redis.sentinels}.
   */
  static final class NamesRedis implements Condition {

    private static final List<String> NAMES =
        List.of(SERVER, "redis.host", "redis.port", "redis.socket");

    @Override
    public boolean matches(@SuppressWarnings("rawtypes") ConditionContext context) {
      return context.getBean(RedisConfiguration.class).enabled()
          && (NAMES.stream().anyMatch(context::containsProperty)
              || context
                  .getProperty(NODES, String[].class)
                  .filter(all -> all.length > 0)
                  .isPresent());
    }
  }

  /** The address that micronaut-redis has. */
  @Factory
  @Requires(classes = DefaultRedisConfiguration.class)
  static final class OfMicronautRedis {

    /** A factory is created before what its methods take, and so before the addresses are bound. */
    OfMicronautRedis(Environment environment) {
      environment.getProperty(SERVER, String.class).ifPresent(uri -> read(SERVER, uri));
      for (String setting : SEVERAL) {
        environment
            .getProperty(setting, String[].class)
            .ifPresent(uris -> read(setting, List.of(uris)));
      }
    }

    @Singleton
    @Requires(condition = NamesRedis.class, beans = DefaultRedisConfiguration.class)
    RedisAddress address(DefaultRedisConfiguration redis) {
      return of(redis.getUri().orElse(redis), redis.getUris(), redis.getClientName());
    }
  }

  /** The address that {@link Settings} have. */
  @Factory
  @Requires(classes = RedisURI.class, missing = DefaultRedisConfiguration.class)
  static final class OfSettings {

    @Singleton
    @Requires(condition = NamesRedis.class)
    @Requires(property = "redis.enabled", notEquals = StringUtils.FALSE)
    RedisAddress address(Settings settings, Environment environment) {
      settings.warnOfOthers(environment);
      return of(settings.server(), read(NODES, settings.nodes()), settings.clientName);
    }
  }

  /**
   * The settings of micronaut-redis that the limiter needs, with the same meaning.
   *
   * @param uri Address of a Redis, or of sentinels, with what the connection needs, such as {@code
   *     rediss://user:password@host:6380/1}. None by default. This and the other settings under
   *     {@code redis} are those of micronaut-redis, which binds them if it is on the class path.
   * @param uris Addresses of nodes of a Redis Cluster. None by default. They precede {@code
   *     redis.uri}.
   * @param clientName Name of the connections in {@code CLIENT LIST}. None by default.
   * @param host Host of a Redis without {@code redis.uri}. Default value {@code localhost}.
   * @param port Port of a Redis without {@code redis.uri}. Default value 6379.
   * @param socket Path of the Unix domain socket of a Redis without {@code redis.uri}. None by
   *     default.
   * @param username User of a Redis without {@code redis.uri}. None by default: a password alone is
   *     that of the user {@code default}.
   * @param password Password for a Redis without {@code redis.uri}. None by default. No message
   *     contains it.
   * @param database Number of the database of a Redis without {@code redis.uri}. Default value 0.
   * @param ssl Whether connections without {@code redis.uri} use TLS. Default value false.
   * @param startTls Whether TLS begins with the command {@code STARTTLS}. Default value false.
   * @param verifyPeer Whether TLS requires a valid certificate of the host. Default value true.
   */
  @ConfigurationProperties(PREFIX)
  @Requires(classes = RedisURI.class, missing = DefaultRedisConfiguration.class)
  record Settings(
      @Nullable String uri,
      @Nullable List<String> uris,
      @Nullable String clientName,
      @Bindable(defaultValue = "localhost") String host,
      @Bindable(defaultValue = "6379") int port,
      @Nullable String socket,
      @Nullable String username,
      @Nullable String password,
      @Bindable(defaultValue = "0") int database,
      @Bindable(defaultValue = "false") String ssl,
      @Bindable(defaultValue = "false") String startTls,
      @Bindable(defaultValue = "true") String verifyPeer) {

    private static final List<String> PARTS =
        List.of(
            "redis.host",
            "redis.port",
            "redis.socket",
            "redis.username",
            "redis.password",
            "redis.database",
            "redis.ssl",
            "redis.start-tls",
            "redis.verify-peer");

    private static final Pattern BELOW = Pattern.compile("^(redis\\.[^.\\[]+).*");

    private List<String> nodes() {
      return uris == null ? List.of() : uris;
    }

    private RedisURI server() {
      RedisURI server = uri == null ? parts() : read(SERVER, uri);
      if (clientName != null) {
        server.setClientName(clientName);
      }
      return server;
    }

    private RedisURI parts() {
      RedisURI.Builder parts =
          socket == null ? RedisURI.Builder.redis(host, port) : RedisURI.Builder.socket(socket);
      parts.withDatabase(database);
      if (socket == null) {
        parts
            .withSsl(isOn("redis.ssl", ssl))
            .withStartTls(isOn("redis.start-tls", startTls))
            .withVerifyPeer(isOn("redis.verify-peer", verifyPeer));
      }
      // Empty is none, as a placeholder such as ${REDIS_PASSWORD:} may be.
      boolean hasUser = username != null && !username.isEmpty();
      boolean hasPassword = password != null && !password.isEmpty();
      if (hasUser && hasPassword) {
        parts.withAuthentication(username, password);
      } else if (hasPassword) {
        parts.withPassword((CharSequence) password);
      } else if (hasUser) {
        throw new ConfigurationException(
            "redis.username = %s: a user needs a password, so set redis.password too"
                .formatted(username));
      }
      return parts.build();
    }

    /** Micronaut reads a mistyped word as false, and the connection would not be encrypted. */
    private static boolean isOn(String setting, String word) {
      if (!PolicyMember.SWITCH_WORDS.contains(word.toLowerCase(Locale.ROOT))) {
        throw new ConfigurationException(
            "%s = %s: set it to true or false".formatted(setting, word));
      }
      return StringUtils.isTrue(word.toLowerCase(Locale.ROOT));
    }

    /** Names what is set and has no effect. A variable may be meant for something else. */
    private void warnOfOthers(Environment environment) {
      List<String> read = new ArrayList<>();
      if (!nodes().isEmpty()) {
        read.add(NODES);
      } else if (uri != null) {
        read.add(SERVER);
      } else {
        read.addAll(PARTS);
      }
      read.add("redis.client-name");
      String others =
          environment.getPropertySources().stream()
              .filter(source -> source.getConvention() != PropertyConvention.ENVIRONMENT_VARIABLE)
              .flatMap(source -> StreamSupport.stream(source.spliterator(), false))
              .map(name -> BELOW.matcher(NameUtils.hyphenate(name, true)))
              .filter(Matcher::matches)
              .map(name -> name.group(1))
              .filter(name -> !name.equals("redis.enabled") && !read.contains(name))
              .distinct()
              .sorted()
              .collect(joining(", "));
      if (!others.isEmpty()) {
        LOG.warn(
            "Without micronaut-redis the limiter reads {}, and not {}{}",
            String.join(", ", read),
            others,
            read.containsAll(PARTS)
                ? ""
                : ": what a connection needs is a part of its address, such as rediss://user:password@host:6380/1");
      }
    }

    /** Without the password. */
    @Override
    public String toString() {
      return PREFIX;
    }
  }
}
