// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.testing;

import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import reactor.blockhound.BlockHound;
import reactor.blockhound.BlockingMethod;
import reactor.blockhound.integration.BlockHoundIntegration;

/**
 * Detects calls that block on a thread that must not: an event loop of the server's or of
 * Lettuce's, or the timer of the deadline. It records them and lets them continue, so that one run
 * shows them all, and none is lost in code that catches errors; {@link EventLoopExtension} fails
 * the test.
 *
 * <p>Netty's own integration determines which threads these are, and which of Netty's calls may
 * block; Reactor's and BlockHound's allow the JDK's schedulers, class loading and the writing of
 * logs.
 */
public final class EventLoopBlocking implements BlockHoundIntegration {

  /** A call that blocked; its stack trace shows where. */
  static final class Blocked extends Error {
    private Blocked(BlockingMethod method, Thread thread) {
      super(method + " on " + thread.getName());
    }
  }

  private static final Queue<Blocked> SEEN = new ConcurrentLinkedQueue<>();

  /** Once for a JVM; from then on everything is detected. */
  static void install() {
    BlockHound.install();
  }

  /** The calls detected since the last invocation. */
  public static List<Throwable> take() {
    List<Throwable> taken = new ArrayList<>();
    for (Blocked one = SEEN.poll(); one != null; one = SEEN.poll()) {
      taken.add(one);
    }
    return taken;
  }

  @Override
  public void applyTo(BlockHound.Builder builder) {
    // Guards a decision in memory: a microsecond, in which nothing else is called.
    builder.allowBlockingCallsInside("io.limiter.core.memory.StripedState$Stripe", "lock");
    // Guards the order of commands while one is written; another loop may write to a shared
    // connection just then.
    builder.allowBlockingCallsInside("io.lettuce.core.protocol.SharedLock", "incrementWriters");
    builder.allowBlockingCallsInside("io.lettuce.core.protocol.SharedLock", "doExclusive");
    // Random numbers and certificates, for each connection with TLS.
    builder.allowBlockingCallsInside(
        "io.lettuce.core.SslConnectionBuilder$SslChannelInitializer", "initializeSSLEngine");
    // How many commands wait for a connection: the lock of that queue.
    builder.allowBlockingCallsInside("io.lettuce.core.protocol.DefaultEndpoint", "validateWrite");
    // Of Lettuce's own cluster client, which tests compare with the limiter's: when it is closed.
    builder.allowBlockingCallsInside(
        "io.lettuce.core.cluster.PooledClusterConnectionProvider", "resetFastConnectionCache");
    // The latencies that Lettuce measures, when it ends: the lock of a pool, on a thread that
    // carries no connection.
    builder.allowBlockingCallsInside(
        "io.lettuce.core.metrics.DefaultCommandLatencyCollector", "shutdown");
    // The lock of Lettuce's groups of loops, when a client ends, on the same thread.
    builder.allowBlockingCallsInside(
        "io.lettuce.core.resource.DefaultEventLoopGroupProvider", "release");
    // The map itself, where hashes collide: like its initTable, which BlockHound allows.
    builder.allowBlockingCallsInside(
        "java.util.concurrent.ConcurrentHashMap$TreeBin", "contendedLock");
    // Time-outs that the JDK keeps, and tasks for its executors: the lock of their queue, or of the
    // pool that gets a thread or loses a task.
    String timers = "java.util.concurrent.ScheduledThreadPoolExecutor$DelayedWorkQueue";
    builder.allowBlockingCallsInside(timers, "offer");
    builder.allowBlockingCallsInside(timers, "remove");
    builder.allowBlockingCallsInside("java.util.concurrent.LinkedBlockingQueue", "offer");
    builder.allowBlockingCallsInside("java.util.concurrent.ThreadPoolExecutor", "addWorker");
    builder.allowBlockingCallsInside("java.util.concurrent.ThreadPoolExecutor", "remove");
    // Netty's allocator: like its other locks, which Netty's integration allows.
    builder.allowBlockingCallsInside("io.netty.buffer.AdaptivePoolingAllocator$Magazine", "free");
    // How a loop of the transport within a JVM waits for work.
    builder.allowBlockingCallsInside("io.netty.channel.local.LocalIoHandler", "run");
    // What Micronaut reads from jars for its first request, its first answer, its first cookie, and
    // its first JSON.
    builder.allowBlockingCallsInside(
        "io.micronaut.core.type.RuntimeTypeInformation$LazyTypeInfo", "<clinit>");
    builder.allowBlockingCallsInside(
        "io.micronaut.http.DefaultHttpFactories", "resolveDefaultResponseFactory");
    builder.allowBlockingCallsInside(
        "io.micronaut.http.DefaultHttpFactories", "resolveDefaultRequestFactory");
    builder.allowBlockingCallsInside("io.micronaut.http.cookie.ServerCookieDecoder", "<clinit>");
    builder.allowBlockingCallsInside("io.micronaut.jackson.ObjectMapperFactory", "objectMapper");
    builder.allowBlockingCallsInside("io.micronaut.http.MediaType", "getMediaTypeFileExtensions");
    // What Micronaut 5 reads from jars for each refresh that its own endpoint does.
    builder.allowBlockingCallsInside("io.micronaut.context.env.DefaultEnvironment", "refresh");
    // The lock of a map of beans, for each request.
    String scope = "io.micronaut.context.scope.AbstractConcurrentCustomScope";
    builder.allowBlockingCallsInside(scope, "getOrCreate");
    builder.allowBlockingCallsInside(scope, "destroyScope");
    // The lock under which Jackson creates the deserializer of a type, once.
    builder.allowBlockingCallsInside(
        "com.fasterxml.jackson.databind.deser.DeserializerCache",
        "_createAndCacheValueDeserializer");
    builder.allowBlockingCallsInside(
        "tools.jackson.databind.deser.DeserializerCache", "_createAndCacheValueDeserializer");
    builder.blockingMethodCallback(method -> SEEN.add(new Blocked(method, Thread.currentThread())));
  }
}
