// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.awaitility.Awaitility;

/**
 * A primary, two replicas and three sentinels on loopback, of real processes. The sentinels
 * consider a primary lost after {@link #DOWN_AFTER}, if two of them agree.
 */
public final class SentinelGroup implements AutoCloseable {

  public static final Duration DOWN_AFTER = Duration.ofSeconds(1);

  private static final String NAME = "limits";
  private static final Duration READY = Duration.ofSeconds(20);

  private final List<RedisProcess> servers = new ArrayList<>();
  private final List<RedisProcess> sentinels = new ArrayList<>();
  private final Path directory = TemporaryDirectory.create("limiter-sentinel-");

  private SentinelGroup() {}

  /**
   * Returns when every sentinel knows all others, and both replicas follow the primary.
   *
   * @param settings further arguments of each server's command line
   */
  public static SentinelGroup start(String... settings) {
    return start(UnaryOperator.identity(), settings);
  }

  /**
   * @param replica changes a replica before it is started
   */
  public static SentinelGroup start(UnaryOperator<RedisProcess> replica, String... settings) {
    SentinelGroup group = new SentinelGroup();
    try {
      group.startServers(replica, settings);
      group.startSentinels();
      Awaitility.await().atMost(READY).until(group::isComplete);
      return group;
    } catch (RuntimeException e) {
      group.close();
      throw e;
    }
  }

  /** One primary and one sentinel: nothing fails over, and the start takes no time. */
  public static SentinelGroup lone() {
    SentinelGroup group = new SentinelGroup();
    try {
      group.servers.add(RedisProcess.onFreePort().start());
      group.addLoneSentinel(group.servers.get(0));
      return group;
    } catch (RuntimeException e) {
      group.close();
      throw e;
    }
  }

  /**
   * From now on the sentinels know only callers with this password, as {@code requirepass} does.
   *
   * @param user {@code default}, or a user that may only ask for the primary
   */
  public void require(String user, String password) {
    for (RedisProcess sentinel : sentinels) {
      if (!user.equals("default")) {
        type(
            sentinel,
            "ACL SETUSER %s on >%s +sentinel|get-master-addr-by-name".formatted(user, password));
      }
      type(sentinel, "ACL SETUSER default resetpass >" + password);
    }
  }

  private void startServers(UnaryOperator<RedisProcess> replica, String... settings) {
    List<String> common = new ArrayList<>(List.of("--repl-diskless-sync-delay", "0"));
    common.addAll(List.of(settings));
    servers.add(RedisProcess.onFreePort(common.toArray(String[]::new)).start());
    List<String> following = new ArrayList<>(common);
    following.addAll(List.of("--replicaof", "127.0.0.1", Integer.toString(servers.get(0).port())));
    for (int i = 0; i < 2; i++) {
      servers.add(replica.apply(RedisProcess.onFreePort(following.toArray(String[]::new))).start());
    }
  }

  /** Each gets the addresses of all others: discovery would take ten seconds. */
  private void startSentinels() {
    List<Integer> ports = Stream.generate(Ports::free).limit(3).toList();
    for (int own : ports) {
      Stream<String> facts =
          Stream.of(
              "port " + own,
              "bind 127.0.0.1",
              "dir " + directory,
              "sentinel myid " + id(own),
              "sentinel monitor %s 127.0.0.1 %s 2".formatted(NAME, servers.get(0).port()),
              "sentinel down-after-milliseconds %s %s".formatted(NAME, DOWN_AFTER.toMillis()),
              "sentinel failover-timeout %s 3000".formatted(NAME));
      Stream<String> replicas =
          servers.stream()
              .skip(1)
              .map(it -> "sentinel known-replica %s 127.0.0.1 %s".formatted(NAME, it.port()));
      Stream<String> others =
          ports.stream()
              .filter(port -> port != own)
              .map(it -> "sentinel known-sentinel %s 127.0.0.1 %s %s".formatted(NAME, it, id(it)));
      sentinels.add(startSentinel(own, Stream.of(facts, replicas, others).flatMap(lines -> lines)));
    }
  }

  /** An independent sentinel, which reports this server and learns of no other. */
  public RedisProcess addLoneSentinel(RedisProcess named) {
    int port = Ports.free();
    RedisProcess lone =
        startSentinel(
            port,
            Stream.of(
                "port " + port,
                "bind 127.0.0.1",
                "dir " + directory,
                "sentinel monitor %s 127.0.0.1 %s 2".formatted(NAME, named.port())));
    sentinels.add(lone);
    return lone;
  }

  private RedisProcess startSentinel(int port, Stream<String> lines) {
    Path configuration = directory.resolve(port + ".conf");
    try {
      Files.writeString(configuration, lines.collect(Collectors.joining("\n", "", "\n")));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return RedisProcess.sentinel(port, configuration).start();
  }

  /** Forty letters that differ between ports. */
  private static String id(int port) {
    return "%040x".formatted(port);
  }

  private boolean isComplete() {
    return sentinels.stream()
        .allMatch(
            sentinel -> {
              String all =
                  ask(sentinel, "SENTINEL REPLICAS " + NAME)
                      + ask(sentinel, "SENTINEL SENTINELS " + NAME);
              boolean reached = !all.contains("disconnected") && !all.contains("_down");
              return reached && all.split("master-link-status\r\n\\$2\r\nok", -1).length == 3;
            });
  }

  /** Empty if it does not answer. */
  private static String ask(RedisProcess sentinel, String command) {
    try {
      return TypedCommand.reply(sentinel.port(), command, Duration.ofSeconds(1));
    } catch (IOException notNow) {
      return "";
    }
  }

  /** The server that the first answering sentinel considers the primary. */
  public RedisProcess primary() {
    return sentinels.stream()
        .flatMapToInt(sentinel -> namedBy(sentinel).stream())
        .boxed()
        .findFirst()
        .flatMap(port -> servers.stream().filter(server -> server.port() == port).findFirst())
        .orElseThrow(() -> new IllegalStateException("No sentinel names a primary"));
  }

  private static OptionalInt namedBy(RedisProcess sentinel) {
    String[] lines = ask(sentinel, "SENTINEL get-master-addr-by-name " + NAME).split("\r\n");
    return lines.length == 5 ? OptionalInt.of(Integer.parseInt(lines[4])) : OptionalInt.empty();
  }

  /** Returns when the first sentinel reports another primary. */
  public RedisProcess awaitPrimaryInsteadOf(RedisProcess lost) {
    Awaitility.await()
        .pollInterval(Duration.ofMillis(20))
        .atMost(READY)
        .until(() -> primary() != lost);
    return primary();
  }

  /** Changes {@link #DOWN_AFTER} for this group. */
  public void takeForLostAfter(Duration time) {
    for (RedisProcess sentinel : sentinels) {
      type(sentinel, "SENTINEL SET " + NAME + " down-after-milliseconds " + time.toMillis());
    }
  }

  /** Makes the sentinels promote another primary, as an administrator would. */
  public void failOver() {
    type(sentinels.get(0), "SENTINEL FAILOVER " + NAME);
  }

  private static void type(RedisProcess sentinel, String command) {
    String reply = ask(sentinel, command);
    if (!reply.startsWith("+OK")) {
      throw new IllegalStateException(command + ": " + reply);
    }
  }

  /** The first of them was the primary at the start. */
  public List<RedisProcess> servers() {
    return List.copyOf(servers);
  }

  public List<RedisProcess> replicas() {
    RedisProcess primary = primary();
    return servers.stream().filter(server -> server != primary).toList();
  }

  public List<RedisProcess> sentinels() {
    return List.copyOf(sentinels);
  }

  public String uri() {
    return uri(sentinels);
  }

  /** The URI of these sentinels, in this order. */
  public static String uri(List<RedisProcess> sentinels) {
    return sentinels.stream()
        .map(sentinel -> "127.0.0.1:" + sentinel.port())
        .collect(Collectors.joining(",", "redis-sentinel://", "#" + NAME));
  }

  @Override
  public void close() {
    sentinels.forEach(RedisProcess::close);
    servers.forEach(RedisProcess::close);
    TemporaryDirectory.delete(directory);
  }
}
