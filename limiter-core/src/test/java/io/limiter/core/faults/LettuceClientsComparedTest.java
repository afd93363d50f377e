// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.faults;

import static io.limiter.core.faults.LimiterBench.HEALED;
import static io.limiter.core.faults.LimiterBench.HOUR;
import static io.limiter.core.faults.LimiterBench.call;
import static io.limiter.core.faults.LimiterBench.pass;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.ClientOptions.DisconnectedBehavior;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandTimeoutException;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.StatefulRedisConnectionImpl;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.masterreplica.MasterReplica;
import io.lettuce.core.masterreplica.StatefulRedisMasterReplicaConnection;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.Delay;
import io.lettuce.core.resource.EpollProvider;
import io.lettuce.core.resource.EventLoopGroupProvider;
import io.lettuce.core.resource.NettyCustomizer;
import io.limiter.core.DecidedBy;
import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.StoreException;
import io.limiter.core.Subject;
import io.limiter.core.redis.LoopConnections;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.RedisStore;
import io.limiter.core.redis.SharedConnection;
import io.limiter.core.redis.cluster.ClusterConnections;
import io.limiter.core.redis.connection.LettuceClients;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.testing.ClusterGroup;
import io.limiter.core.testing.FaultProxy;
import io.limiter.core.testing.Ports;
import io.limiter.core.testing.RecordedLog;
import io.limiter.core.testing.RedisProcess;
import io.limiter.core.testing.SentinelGroup;
import io.limiter.core.testing.SlotMove;
import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.util.concurrent.EventExecutorGroup;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.ImmediateEventExecutor;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Which promises the limiter's connections keep and Lettuce's own clients do not, with the options
 * under which they come closest. Each method shows the promise, then the same scenario with
 * Lettuce's client. If the second half fails with a later Lettuce, the limiter's part, which the
 * method names first, may go.
 */
@Tag("faults")
class LettuceClientsComparedTest {

  private static final Duration PATIENCE = Duration.ofSeconds(15);
  private static final Duration DEADLINE = Duration.ofMillis(100);
  private static final String KEPT = "Lettuce keeps this promise as well: the part may go";
  private static final long COUNT = 1_000;

  private final RedisClient admin = RedisClient.create();
  private final List<AutoCloseable> opened = new ArrayList<>();

  @AfterEach
  void close() throws Exception {
    for (int i = opened.size() - 1; i >= 0; i--) {
      opened.get(i).close();
    }
    admin.shutdown(Duration.ZERO, Duration.ofSeconds(2));
  }

  private <T extends AutoCloseable> T closed(T later) {
    opened.add(later);
    return later;
  }

  /** Redis Cluster: {@link RedisClusterClient}. */
  @Nested
  class Cluster {

    /**
     * ClusterConnections, ClusterNode. Lettuce opens the connection to a node when a call needs it.
     * In Lettuce 6 the call waits for that, its time limit does not count until it is written, and
     * a call that the caller has cancelled is written all the same. Lettuce 7 rejects it, so the
     * first call to each node fails.
     */
    @Test
    void aCallThatFindsNoConnectionNeverRuns(@TempDir Path directory) {
      int port = Ports.free();
      FaultProxy proxy = closed(new FaultProxy(port));
      RedisProcess redis = lonePrimary(port, proxy.port(), directory);
      LimitRequest call = call("late", COUNT, HOUR);
      RedisSettings settings =
          new RedisSettings(RedisSettings.DEFAULT_PREFIX, PATIENCE.dividedBy(3));

      proxy.delay(DEADLINE.multipliedBy(2));
      ClusterConnections connections =
          ClusterConnections.open(List.of(RedisURI.create(proxy.uri())), settings);
      LimitStore store = closed(new RedisStore(connections, settings));
      assertThat(reason(store, call)).isEqualTo(FailureReason.DISCONNECTED);
      assertThat(connections.firstAttempt()).succeedsWithin(PATIENCE).isEqualTo(true);
      proxy.pass();
      await().atMost(PATIENCE).until(() -> reason(store, call) == null);
      assertThat(used(store, call)).isEqualTo(1);

      StatefulRedisClusterConnection<String, String> lettuce = lettuce(true, proxy.uri());
      proxy.delay(DEADLINE.multipliedBy(2));
      RedisFuture<Long> late = lettuce.async().incr("late");
      if (late.toCompletableFuture().isCompletedExceptionally()) {
        assertThat(late.getError()).as(KEPT).contains("not connected");
        return;
      }
      pass(DEADLINE);
      late.cancel(true);
      await()
          .atMost(PATIENCE)
          .untilAsserted(
              () -> assertThat(ask(redis, it -> it.get("late"))).as(KEPT).isEqualTo("1"));
    }

    /** ClusterConnections, ClusterNode. */
    @Test
    void everyPrimaryHasAConnectionBeforeItsFirstCall() {
      ClusterGroup group = closed(ClusterGroup.withoutReplicas());
      RedisURI limiters = named(group, "limiters");
      ClusterConnections connections =
          closed(ClusterConnections.open(List.of(limiters), RedisSettings.defaults()));
      assertThat(connections.firstAttempt()).succeedsWithin(PATIENCE).isEqualTo(true);
      assertThat(connectionsNamed(group, "limiters")).hasSize(3).doesNotContain(0L);

      lettuce(true, named(group, "lettuces"));
      await() // a refresh connects for a moment
          .atMost(PATIENCE)
          .untilAsserted(
              () -> assertThat(connectionsNamed(group, "lettuces")).as(KEPT).contains(0L));
    }

    private RedisURI named(ClusterGroup group, String name) {
      RedisURI uri = RedisURI.create(group.uris().get(0));
      uri.setClientName(name);
      return uri;
    }

    private List<Long> connectionsNamed(ClusterGroup group, String name) {
      return group.servers().stream()
          .map(
              server ->
                  group
                      .admin(server)
                      .clientList()
                      .lines()
                      .filter(line -> line.contains("name=" + name + " "))
                      .count())
          .toList();
    }

    /**
     * ScriptCall. Lettuce follows the redirect of a call that was cancelled. Its own time limit
     * would end the call, but measures the wrong side: {@link
     * Connection#aLateEventLoopIsNoLateRedis}.
     */
    @Test
    void aCallWhoseDeadlineHasPassedIsNotRedirected() {
      ClusterGroup group = closed(ClusterGroup.withoutReplicas("--cluster-node-timeout", "10000"));
      ClusterConnections connections = connect(group);
      LimitStore store = closed(new RedisStore(connections, RedisSettings.defaults()));
      LimitRequest call = call("late", COUNT, HOUR);
      int slot = ClusterBench.slot(call);
      LimitRequest next = call(ClusterBench.subjectsIn(slot, 1).get(0), COUNT, HOUR);
      String key = keyIn(slot);
      StatefulRedisClusterConnection<String, String> lettuce =
          lettuce(false, RedisURI.create(group.uris().get(0)));
      SlotMove move = SlotMove.of(group, slot);
      move.begin();
      connected(() -> lettuce.sync().incr(key + ":first"));
      await().atMost(PATIENCE).until(() -> reason(store, next) == null);

      move.from().suspend();
      assertThat(reason(store, call)).isEqualTo(FailureReason.TIMEOUT);
      RedisFuture<Long> late = lettuce.async().incr(key);
      pass(DEADLINE);
      late.cancel(true);
      move.from().resume();

      await().atMost(PATIENCE).until(() -> reason(store, next) == null);
      await()
          .atMost(PATIENCE)
          .ignoreExceptions()
          .untilAsserted(() -> assertThat(used(store, call)).isZero());
      move.end();
      await()
          .atMost(PATIENCE)
          .untilAsserted(() -> assertThat(group.admin(move.to()).get(key)).as(KEPT).isEqualTo("1"));
    }

    /** RedisNodes: one key after the other. Lettuce hands the error to the caller. */
    @Test
    void aCallOfTwoKeysIsDecidedWhileTheirSlotMoves() {
      ClusterGroup group = closed(ClusterGroup.withoutReplicas());
      ClusterConnections connections = connect(group);
      LimitStore store = closed(new RedisStore(connections, RedisSettings.defaults()));
      Policy once =
          Policy.of("calls", SlidingWindowLogRule.of(COUNT, HOUR))
              .withDuplicates(SlidingWindowLogRule.of(1, HOUR));
      LimitRequest first =
          LimitRequest.of(once, new Subject("user", "a"), Optional.of("first form"));
      LimitRequest second =
          LimitRequest.of(once, new Subject("user", "a"), Optional.of("second form"));
      int slot = ClusterBench.slot(first);
      String key = keyIn(slot);
      StatefulRedisClusterConnection<String, String> lettuce =
          lettuce(true, RedisURI.create(group.uris().get(0)));
      assertThat(reason(store, first)).isNull();
      connected(() -> lettuce.sync().set(key, "here"));
      SlotMove.of(group, slot).begin();

      await().atMost(PATIENCE).until(() -> reason(store, second) == null);
      assertThat(
              lettuce
                  .async()
                  .eval("return 1", ScriptOutputType.INTEGER, key, key + ":new")
                  .toCompletableFuture())
          .as(KEPT)
          .failsWithin(PATIENCE)
          .withThrowableThat()
          .withMessageContaining("TRYAGAIN");
    }

    /**
     * ClusterTopology. Lettuce takes the view that has most healthy nodes: that of a node that is
     * cut off and has not noticed, since the others report a node as failed.
     */
    @Test
    void ofTwoPrimariesThatClaimASlotTheOneWithTheHigherEpochDecides(@TempDir Path directory)
        throws Exception {
      String old = "a".repeat(40);
      String promoted = "b".repeat(40);
      int oldPort = Ports.free();
      int newPort = Ports.free();
      RedisProcess former =
          clusterNode(
              oldPort,
              directory.resolve("old.conf"),
              """
              %s 127.0.0.1:%d@%d myself,master - 0 0 1 connected 0-16383
              %s 127.0.0.1:%d@1 slave %s 0 0 1 connected
              vars currentEpoch 1 lastVoteEpoch 0
              """
                  .formatted(old, oldPort, oldPort + 10_000, promoted, newPort, old));
      RedisProcess current =
          clusterNode(
              newPort,
              directory.resolve("new.conf"),
              """
              %s 127.0.0.1:%d@%d myself,master - 0 0 2 connected 0-16383
              %s 127.0.0.1:%d@1 master,fail - 1 1 1 disconnected
              vars currentEpoch 2 lastVoteEpoch 2
              """
                  .formatted(promoted, newPort, newPort + 10_000, old, oldPort));
      for (RedisProcess one : List.of(former, current)) {
        await()
            .atMost(PATIENCE)
            .until(() -> ask(one, RedisCommands::clusterInfo).contains("cluster_state:ok"));
      }
      List<RedisURI> seeds =
          Stream.of(former, current).map(it -> RedisURI.create(it.uri())).toList();

      ClusterConnections connections = ClusterConnections.open(seeds, RedisSettings.defaults());
      LimitStore store = closed(new RedisStore(connections, RedisSettings.defaults()));
      await().atMost(PATIENCE).until(() -> reason(store, call("somebody", COUNT, HOUR)) == null);
      assertThat(ask(current, it -> it.dbsize().toString())).isEqualTo("1");
      assertThat(ask(former, it -> it.dbsize().toString())).isEqualTo("0");

      StatefulRedisClusterConnection<String, String> lettuce =
          lettuce(true, seeds.toArray(RedisURI[]::new));
      assertThat(lettuce.getPartitions().getPartitionBySlot(0).getUri().getPort())
          .as(KEPT)
          .isEqualTo(oldPort);
    }

    /**
     * TopologyWatch, ClusterTopology.TopologyLookup. Lettuce connects to every node for each
     * lookup.
     */
    @Test
    void lookingTheSlotsUpOpensNoConnection(@TempDir Path directory) {
      int port = Ports.free();
      RedisProcess redis = lonePrimary(port, port, directory);
      ClusterConnections connections =
          closed(
              ClusterConnections.open(
                  List.of(RedisURI.create(redis.uri())), RedisSettings.defaults()));
      assertThat(connections.firstAttempt()).succeedsWithin(PATIENCE).isEqualTo(true);
      StatefulRedisConnection<String, String> watching =
          admin.connect(RedisURI.create(redis.uri()));
      long before = connected(watching);
      long lookups = lookups(watching);

      await()
          .atMost(PATIENCE)
          .until(
              () -> {
                connections.node(0).failed(); // as each failed call does
                return lookups(watching) >= lookups + 3;
              });
      assertThat(connected(watching)).isEqualTo(before);

      RedisClusterClient client = closed(client(true, RedisURI.create(redis.uri())));
      client.getPartitions();
      long beforeLettuces = connected(watching);
      for (int i = 0; i < 3; i++) {
        client.refreshPartitions();
      }
      assertThat(connected(watching)).as(KEPT).isGreaterThanOrEqualTo(beforeLettuces + 3);
    }

    private long connected(StatefulRedisConnection<String, String> connection) {
      return number(connection.sync().info("stats"), "total_connections_received:(\\d+)");
    }

    private long lookups(StatefulRedisConnection<String, String> connection) {
      return number(
          connection.sync().info("commandstats"), "cmdstat_cluster(?:\\|nodes)?:calls=(\\d+)");
    }

    private long number(String info, String pattern) {
      Matcher matcher = Pattern.compile(pattern).matcher(info);
      return matcher.find() ? Long.parseLong(matcher.group(1)) : 0;
    }

    /** ClusterConnections. Lettuce's attempt has failed, and there is no connection to wait for. */
    @Test
    void aClusterThatStartsAfterTheServiceIsFound(@TempDir Path directory) {
      int port = Ports.free();
      RedisURI uri = RedisURI.create("127.0.0.1", port);
      ClusterConnections connections =
          ClusterConnections.open(List.of(uri), RedisSettings.defaults());
      LimitStore store = closed(new RedisStore(connections, RedisSettings.defaults()));
      assertThat(connections.firstAttempt()).succeedsWithin(PATIENCE).isEqualTo(false);
      RedisClusterClient client = closed(client(true, uri));
      assertThat(client.connectAsync(StringCodec.UTF8)).as(KEPT).failsWithin(PATIENCE);

      lonePrimary(port, port, directory);

      await().atMost(PATIENCE).until(() -> reason(store, call("somebody", COUNT, HOUR)) == null);
    }

    private ClusterConnections connect(ClusterGroup group) {
      ClusterConnections connections =
          closed(
              ClusterConnections.open(
                  group.uris().stream().map(RedisURI::create).toList(), RedisSettings.defaults()));
      assertThat(connections.firstAttempt()).succeedsWithin(PATIENCE).isEqualTo(true);
      return connections;
    }

    private String keyIn(int slot) {
      return IntStream.iterate(0, i -> i + 1)
          .mapToObj(i -> "{" + i + "}")
          .filter(key -> SlotHash.getSlot(key) == slot)
          .findFirst()
          .orElseThrow();
    }

    /** A Cluster of one primary, which other nodes and clients find at another port. */
    private RedisProcess lonePrimary(int port, int announced, Path directory) {
      RedisProcess redis =
          closed(
              RedisProcess.onPort(
                  port,
                  "--cluster-enabled",
                  "yes",
                  "--cluster-config-file",
                  directory.resolve("lone.conf").toString(),
                  "--cluster-announce-ip",
                  "127.0.0.1",
                  "--cluster-announce-port",
                  Integer.toString(announced)));
      redis.start();
      ask(redis, it -> it.clusterAddSlots(IntStream.range(0, SlotHash.SLOT_COUNT).toArray()));
      await()
          .atMost(PATIENCE)
          .until(() -> ask(redis, RedisCommands::clusterInfo).contains("cluster_state:ok"));
      return redis;
    }

    /** A node with this view of the others, which it cannot reach. */
    private RedisProcess clusterNode(int port, Path file, String view) throws Exception {
      Files.writeString(file, view);
      return closed(
          RedisProcess.onPort(
                  port,
                  "--cluster-enabled",
                  "yes",
                  "--cluster-config-file",
                  file.toString(),
                  "--cluster-node-timeout",
                  "3600000")
              .start());
    }

    /** Lettuce 7 rejects the first call to a node. */
    private static void connected(Runnable call) {
      await()
          .atMost(PATIENCE)
          .ignoreException(RedisException.class)
          .until(
              () -> {
                call.run();
                return true;
              });
    }

    private StatefulRedisClusterConnection<String, String> lettuce(boolean timed, String uri) {
      return lettuce(timed, RedisURI.create(uri));
    }

    private StatefulRedisClusterConnection<String, String> lettuce(
        boolean timed, RedisURI... seeds) {
      return closed(client(timed, seeds)).connect();
    }
  }

  /** One Redis: {@link RedisClient}. */
  @Nested
  class Connection {

    private final RedisProcess redis = closed(RedisProcess.onFreePort().start());

    /**
     * SilenceWatch. TCP's user timeout needs a native transport, and ends a connection whose peer
     * is gone; here the peer's kernel, or a proxy, still acknowledges.
     */
    @Test
    void aSilentConnectionIsReplaced() {
      FaultProxy proxy = closed(new FaultProxy(redis.port()));
      LimitStore store = shared(proxy.uri());
      LimitRequest call = call("silent", COUNT, HOUR);
      await().atMost(PATIENCE).until(() -> reason(store, call) == null);
      StatefulRedisConnection<String, String> lettuce =
          connect(RedisURI.create(proxy.uri()), ClientResources.builder(), true);
      assertThat(lettuce.sync().ping()).isEqualTo("PONG");

      proxy.blackHoleOpenConnections();
      RedisFuture<String> lost = lettuce.async().ping();
      await()
          .atMost(PATIENCE)
          .until(() -> reason(store, call) == null && lost.toCompletableFuture().isDone());

      assertThat(lettuce.isOpen()).isTrue();
      assertThat(lettuce.async().ping().toCompletableFuture())
          .as(KEPT)
          .failsWithin(PATIENCE)
          .withThrowableThat()
          .withCauseInstanceOf(RedisCommandTimeoutException.class);
    }

    /**
     * TimedCommand, UnansweredCommands. Lettuce's time limit runs on a thread of its own from the
     * call on, while the event loop that has to write it and read the reply does not run.
     */
    @Test
    void aLateEventLoopIsNoLateRedis() {
      MultiThreadIoEventLoopGroup loops =
          new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
      closed(() -> loops.shutdownGracefully(0, 1, TimeUnit.SECONDS));
      EventLoop loop = (EventLoop) loops.iterator().next();
      LimitStore store = onLoops(List.of(loop));
      LimitRequest call = call("late", COUNT, HOUR);
      await().atMost(PATIENCE).until(() -> reason(store, call) == null);
      loop.execute(LettuceClientsComparedTest::standStill);
      assertThat(reason(store, call)).isNull();

      List<Channel> channels = new CopyOnWriteArrayList<>();
      StatefulRedisConnection<String, String> lettuce =
          connect(RedisURI.create(redis.uri()), recorded(channels), true);
      assertThat(lettuce.sync().ping()).isEqualTo("PONG");
      channels.get(0).eventLoop().execute(LettuceClientsComparedTest::standStill);
      assertThat(lettuce.async().ping().toCompletableFuture())
          .as(KEPT)
          .failsWithin(PATIENCE)
          .withThrowableThat()
          .withCauseInstanceOf(RedisCommandTimeoutException.class);
    }

    /** UnansweredCommands. Lettuce logs a stack trace for each call beyond its bound. */
    @Test
    void beyondTheBoundOfWaitingCallsTheLogStaysShort() {
      RecordedLog log = closed(RecordedLog.of("io.lettuce"));
      LimitStore store = shared(redis.uri(), Duration.ofSeconds(2)); // none ends before the flood
      LimitRequest call = call("flood", 100_000, HOUR);
      await().atMost(PATIENCE).until(() -> reason(store, call) == null);
      StatefulRedisConnection<String, String> lettuce =
          connect(RedisURI.create(redis.uri()), ClientResources.builder(), false);
      redis.suspend();
      List<CompletableFuture<FailureReason>> flood =
          IntStream.range(0, 10_000).mapToObj(i -> ask(store, call)).toList();
      assertThat(flood.stream().map(CompletableFuture::join)).contains(FailureReason.OVERLOADED);
      assertThat(log.messages()).hasSizeLessThan(2);

      await()
          .pollInterval(Duration.ofMillis(1))
          .atMost(PATIENCE)
          .untilAsserted(
              () -> {
                for (int i = 0; i < 200; i++) {
                  var unused = lettuce.async().ping();
                }
                assertThat(log.messages()).as(KEPT).hasSizeGreaterThan(100);
              });
    }

    /**
     * LoopConnections. Lettuce takes the next event loop of a group for each connection, as the
     * server does for each of its own: two connections may share a loop, and another has none.
     */
    @Test
    void everyLoopHasAConnectionAndItsReplies() {
      MultiThreadIoEventLoopGroup loops =
          new MultiThreadIoEventLoopGroup(2, NioIoHandler.newFactory());
      closed(() -> loops.shutdownGracefully(0, 1, TimeUnit.SECONDS));
      List<EventLoop> each = new ArrayList<>();
      loops.forEach(loop -> each.add((EventLoop) loop));
      LimitStore store = onLoops(each);
      LimitRequest call = call("loops", COUNT, HOUR);
      await().atMost(PATIENCE).until(() -> reason(store, call) == null);
      for (EventLoop loop : each) {
        CompletableFuture<Boolean> same = new CompletableFuture<>();
        loop.execute(
            () ->
                store
                    .decide(call, Mode.ACQUIRE)
                    .whenComplete((verdict, failure) -> same.complete(loop.inEventLoop())));
        assertThat(same).succeedsWithin(PATIENCE).isEqualTo(true);
      }

      List<Channel> channels = new CopyOnWriteArrayList<>();
      ClientResources.Builder resources = recorded(channels).eventLoopGroupProvider(of(loops));
      connect(RedisURI.create(redis.uri()), resources, true);
      assertThat(loops.next()).as("the loop of a connection of the server").isNotNull();
      connect(RedisURI.create(redis.uri()), resources, true);
      assertThat(channels.stream().map(Channel::eventLoop).distinct()).as(KEPT).hasSize(1);
    }

    /** ManagedConnection. Lettuce's connection is open before its scripts are there. */
    @Test
    void theScriptsAreThereBeforeTheFirstCallAfterALoss() {
      LimitStore store = shared(redis.uri());
      LimitRequest call = call("scripts", COUNT, HOUR);
      await().atMost(PATIENCE).until(() -> reason(store, call) == null);
      StatefulRedisConnection<String, String> lettuce =
          connect(RedisURI.create(redis.uri()), ClientResources.builder(), true);
      String sha = lettuce.sync().scriptLoad("return 1");
      redis.kill();
      redis.start();

      await()
          .pollInterval(Duration.ofMillis(1))
          .atMost(PATIENCE)
          .until(() -> reason(store, call) == null);
      assertThat(ask(redis, it -> it.info("commandstats")))
          .contains("cmdstat_evalsha:")
          .doesNotContain("cmdstat_eval:");
      await()
          .atMost(PATIENCE)
          .untilAsserted(
              () ->
                  assertThat(
                          lettuce
                              .async()
                              .evalsha(sha, ScriptOutputType.INTEGER)
                              .toCompletableFuture())
                      .as(KEPT)
                      .failsWithin(PATIENCE)
                      .withThrowableThat()
                      .withCauseInstanceOf(RedisNoScriptException.class));
    }

    /**
     * ManagedConnection. Lettuce reconnects what was open once; a first attempt is the caller's.
     */
    @Test
    void aRedisThatStartsAfterTheServiceIsFound() {
      redis.kill();
      LimitStore store = shared(redis.uri());
      LimitRequest call = call("started", COUNT, HOUR);
      assertThat(reason(store, call)).isEqualTo(FailureReason.DISCONNECTED);
      RedisClient client = client(ClientResources.builder(), true);
      assertThat(
              client
                  .connectAsync(StringCodec.UTF8, RedisURI.create(redis.uri()))
                  .toCompletableFuture())
          .as(KEPT)
          .failsWithin(PATIENCE);

      redis.start();

      await().atMost(PATIENCE).until(() -> reason(store, call) == null);
    }

    /** AsyncClient: the proxy took a quarter of a service's startup time. */
    @Test
    void aConnectionHasNoSynchronousCommandsBeforeTheyAreUsed() throws Exception {
      RedisClient limiters = LettuceClients.create();
      closed(() -> LettuceClients.shutdown(limiters));
      Field commands = StatefulRedisConnectionImpl.class.getDeclaredField("sync");
      commands.setAccessible(true);

      assertThat(commands.get(limiters.connect(RedisURI.create(redis.uri())))).isNull();
      assertThat(
              commands.get(connect(RedisURI.create(redis.uri()), ClientResources.builder(), true)))
          .as(KEPT)
          .isNotNull();
    }

    /**
     * ReconnectDelay. Of Lettuce's three delays, one has a fixed half, so that all instances leave
     * one half of each second free; one is a hundredth of a second from the 63rd attempt on, since
     * a product overflows; and one begins with a fixed time.
     */
    @Test
    void reconnectsAreSpreadOverTheWholeTimeHoweverLongTheLoss() {
      RedisClient limiters = LettuceClients.create();
      closed(() -> LettuceClients.shutdown(limiters));
      Duration shortest = Duration.ofMillis(10);
      Duration longest = Duration.ofSeconds(1);
      Delay ours = limiters.getResources().reconnectDelay();
      for (int attempt : new int[] {4, 63, 1_000}) {
        assertThat(drawn(ours, attempt))
            .as("attempt %d", attempt)
            .anyMatch(delay -> delay.toMillis() < 100)
            .anyMatch(delay -> delay.toMillis() > 900)
            .allMatch(delay -> delay.compareTo(longest) <= 0);
      }

      assertThat(drawn(Delay.fullJitter(shortest, longest, 200, TimeUnit.MILLISECONDS), 4))
          .as(KEPT)
          .allMatch(delay -> delay.toMillis() >= 500);
      assertThat(drawn(Delay.equalJitter(shortest, longest, 200, TimeUnit.MILLISECONDS), 63))
          .as(KEPT)
          .containsOnly(shortest);
      assertThat(
              Stream.generate(
                      Delay.decorrelatedJitter(shortest, longest, 200, TimeUnit.MILLISECONDS))
                  .limit(100)
                  .map(delay -> delay.createDelay(1)))
          .as(KEPT)
          .containsOnly(Duration.ofMillis(200));
    }

    private List<Duration> drawn(Delay delay, long attempt) {
      return Stream.generate(() -> delay.createDelay(attempt)).limit(1_000).toList();
    }

    private LimitStore shared(String uri) {
      return shared(uri, DEADLINE);
    }

    private LimitStore shared(String uri, Duration deadline) {
      RedisSettings settings = new RedisSettings(RedisSettings.DEFAULT_PREFIX, deadline);
      return closed(
          new RedisStore(SharedConnection.open(RedisURI.create(uri), settings), settings));
    }

    private LimitStore onLoops(List<EventLoop> loops) {
      RedisSettings settings = new RedisSettings(RedisSettings.DEFAULT_PREFIX, DEADLINE);
      return closed(
          new RedisStore(
              LoopConnections.open(loops, RedisURI.create(redis.uri()), settings), settings));
    }

    private StatefulRedisConnection<String, String> connect(
        RedisURI uri, ClientResources.Builder resources, boolean timed) {
      return client(resources, timed).connect(uri);
    }

    private ClientResources.Builder recorded(List<Channel> channels) {
      return ClientResources.builder()
          .nettyCustomizer(
              new NettyCustomizer() {
                @Override
                public void afterChannelInitialized(Channel channel) {
                  channels.add(channel);
                }
              });
    }

    private EventLoopGroupProvider of(EventLoopGroup loops) {
      return new EventLoopGroupProvider() {
        @Override
        @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
        public <T extends EventLoopGroup> T allocate(Class<T> type) {
          return (T) loops;
        }

        @Override
        public int threadPoolSize() {
          return 2;
        }

        @Override
        public Future<Boolean> release(
            EventExecutorGroup group, long quietPeriod, long timeout, TimeUnit unit) {
          return ImmediateEventExecutor.INSTANCE.newSucceededFuture(true);
        }

        @Override
        public Future<Boolean> shutdown(long quietPeriod, long timeout, TimeUnit unit) {
          return ImmediateEventExecutor.INSTANCE.newSucceededFuture(true);
        }
      };
    }
  }

  /** Sentinel: {@link RedisClient} and {@link MasterReplica}. */
  @Nested
  class Sentinel {

    /** AsyncClient. Both of Lettuce's ask the first sentinel that answers, and no other. */
    @Test
    void aSentinelThatNamesADeadPrimaryIsPassedOver() {
      SentinelGroup group = SentinelGroup.start();
      RedisProcess dead = RedisProcess.onFreePort().start();
      List<RedisProcess> sentinels = new ArrayList<>();
      sentinels.add(group.addLoneSentinel(dead));
      sentinels.addAll(group.sentinels().subList(0, 3));
      dead.close();
      RedisURI uri = RedisURI.create(SentinelGroup.uri(sentinels));
      SentinelBench bench = closed(SentinelBench.on(group, uri.toURI().toString()));
      await()
          .atMost(PATIENCE)
          .until(() -> bench.ask(call("found", COUNT, HOUR)).decidedBy() == DecidedBy.STORE);

      RedisClient client = client(ClientResources.builder(), false);
      for (int attempt = 0; attempt < 5; attempt++) {
        assertThat(client.connectAsync(StringCodec.UTF8, uri).toCompletableFuture())
            .as(KEPT)
            .failsWithin(PATIENCE);
        assertThat(
                MasterReplica.connectAsync(client, StringCodec.UTF8, uri)
                    .thenCompose(connection -> connection.async().set("found", "yes")))
            .as(KEPT)
            .failsWithin(PATIENCE);
      }
    }

    /** AsyncClient. Lettuce's client warns of each sentinel, at each attempt. */
    @Test
    void sentinelsThatDoNotAnswerAreOneLineInTheLog() {
      RedisURI uri =
          RedisURI.create("redis-sentinel://127.0.0.1:%s#limits".formatted(Ports.free()));
      try (RecordedLog log = RecordedLog.of("ROOT")) {
        try (SharedConnection connection = SharedConnection.open(uri, RedisSettings.defaults())) {
          assertThat(connection.firstAttempt()).succeedsWithin(PATIENCE).isEqualTo(false);
          await()
              .during(Duration.ofSeconds(1))
              .atMost(PATIENCE)
              .until(() -> log.lines().size() == 1);
        }
        RedisClient client = client(ClientResources.builder(), false);
        for (int attempt = 0; attempt < 3; attempt++) {
          assertThat(client.connectAsync(StringCodec.UTF8, uri).toCompletableFuture())
              .failsWithin(PATIENCE);
        }
        assertThat(log.lines())
            .as(KEPT)
            .filteredOn(line -> line.contains("Cannot connect Redis Sentinel"))
            .hasSize(3);
      }
    }

    /**
     * ManagedConnection.renew. The sentinels have demoted the primary, and its connections stay
     * open. Lettuce's client stays with it; its MasterReplica looks again five seconds after the
     * sentinels have reported a change.
     */
    @Test
    void aDemotedPrimaryIsLeftForTheNewOneWithinTwoSeconds() {
      SentinelGroup group = SentinelGroup.start();
      SentinelBench bench = closed(SentinelBench.on(group));
      RedisURI uri = RedisURI.create(group.uri());
      RedisClient client = client(ClientResources.builder(), false);
      StatefulRedisConnection<String, String> plain = client.connect(uri);
      StatefulRedisMasterReplicaConnection<String, String> watching =
          MasterReplica.connect(client, StringCodec.UTF8, uri);
      assertThat(writes(plain.async().set("plain", "before"))).isTrue();
      assertThat(writes(watching.async().set("watching", "before"))).isTrue();
      Load load = Load.start(bench.limiter, List.of(call("demoted", 1_000_000, HOUR)), 100);
      await().until(() -> load.answeredSoFar().size() > 100);
      RedisProcess old = group.primary();

      long began = System.nanoTime();
      group.failOver();
      RedisProcess elected = group.awaitPrimaryInsteadOf(old);
      bench.demote(old, elected.port());
      await()
          .pollInterval(Duration.ofMillis(20))
          .atMost(PATIENCE)
          .until(() -> writes(watching.async().set("watching", "after")));
      Duration found = Duration.ofNanos(System.nanoTime() - began);

      assertThat(SentinelBench.outage(load.stop()))
          .isLessThan(HEALED.multipliedBy(LimiterBench.NOISE))
          .isLessThan(found);
      assertThat(found).as(KEPT).isGreaterThan(HEALED.multipliedBy(2));
      assertThat(writes(plain.async().set("plain", "after"))).as(KEPT).isFalse();
    }

    private boolean writes(RedisFuture<String> write) {
      try {
        return write.toCompletableFuture().get(1, TimeUnit.SECONDS).equals("OK");
      } catch (Exception rejected) {
        return false;
      }
    }
  }

  private RedisClient client(ClientResources.Builder builder, boolean timed) {
    ClientResources resources = builder.build();
    RedisClient client = RedisClient.create(resources);
    client.setOptions(best(timed));
    closed(
        () -> {
          client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
          resources.shutdown(0, 1, TimeUnit.SECONDS);
        });
    return client;
  }

  private RedisClusterClient client(boolean timed, RedisURI... seeds) {
    List<RedisURI> bounded = new ArrayList<>();
    for (RedisURI seed : seeds) {
      bounded.add(RedisURI.builder(seed).withTimeout(Duration.ofMillis(1_500)).build());
    }
    RedisClusterClient client = RedisClusterClient.create(bounded);
    client.setOptions(best(timed));
    return client;
  }

  /**
   * The options that come closest: nothing is sent again or kept without a connection, and the map
   * of slots is looked up as often as the limiter does while something is wrong.
   *
   * @param timed whether Lettuce ends calls at their deadline, those of a handshake later
   */
  private static ClusterClientOptions best(boolean timed) {
    return ClusterClientOptions.builder()
        .autoReconnect(true)
        .disconnectedBehavior(DisconnectedBehavior.REJECT_COMMANDS)
        .requestQueueSize(4_096)
        .maxRedirects(5)
        .validateClusterNodeMembership(false)
        .socketOptions(
            SocketOptions.builder()
                .connectTimeout(Duration.ofSeconds(1))
                .keepAlive(
                    SocketOptions.KeepAliveOptions.builder()
                        .enable()
                        .idle(Duration.ofSeconds(1))
                        .interval(Duration.ofSeconds(1))
                        .count(3)
                        .build())
                .tcpUserTimeout(
                    SocketOptions.TcpUserTimeoutOptions.builder()
                        .enable(EpollProvider.isAvailable()) // else Lettuce 6 ignores it, 7 fails
                        .tcpUserTimeout(Duration.ofSeconds(3))
                        .build())
                .build())
        .timeoutOptions(
            timed
                ? TimeoutOptions.builder().timeoutSource(new CallsOnly()).build()
                : TimeoutOptions.builder().timeoutCommands(false).build())
        .topologyRefreshOptions(
            ClusterTopologyRefreshOptions.builder()
                .enablePeriodicRefresh(Duration.ofMillis(500))
                .enableAllAdaptiveRefreshTriggers()
                .adaptiveRefreshTriggersTimeout(Duration.ofMillis(500))
                .refreshTriggersReconnectAttempts(1)
                .dynamicRefreshSources(true)
                .closeStaleConnections(true)
                .build())
        .build();
  }

  private static final class CallsOnly extends TimeoutOptions.TimeoutSource {

    private static final List<String> CALLS =
        List.of("INCR", "SET", "GET", "PING", "EVAL", "EVALSHA", "SCRIPT");

    @Override
    public long getTimeout(io.lettuce.core.protocol.RedisCommand<?, ?, ?> command) {
      return CALLS.contains(command.getType().toString()) ? DEADLINE.toMillis() : 1_500;
    }
  }

  /** Occupies an event loop, as class loading does, for longer than a deadline. */
  private static void standStill() {
    long end = System.nanoTime() + DEADLINE.multipliedBy(4).toNanos();
    long now = end;
    do {
      now = System.nanoTime();
    } while (now - end < 0);
  }

  /** Decides; null if that succeeds, otherwise the reason why not. */
  private static FailureReason reason(LimitStore store, LimitRequest call) {
    return ask(store, call).join();
  }

  private static CompletableFuture<FailureReason> ask(LimitStore store, LimitRequest call) {
    return store
        .decide(call, Mode.ACQUIRE)
        .toCompletableFuture()
        .handle(
            (verdict, failure) -> {
              Throwable cause =
                  failure instanceof CompletionException ? failure.getCause() : failure;
              return cause == null ? null : ((StoreException) cause).reason();
            });
  }

  private static long used(LimitStore store, LimitRequest call) {
    return store
        .decide(call, Mode.PEEK)
        .thenApply(verdict -> COUNT - verdict.rules().get(0).remaining())
        .toCompletableFuture()
        .join();
  }

  private String ask(
      RedisProcess server, Function<RedisCommands<String, String>, String> commands) {
    try (StatefulRedisConnection<String, String> connection =
        admin.connect(RedisURI.create(server.uri()))) {
      return commands.apply(connection.sync());
    }
  }
}
