// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;

/**
 * Ports for servers that tests start, stop, and start again. They are outside the range that the
 * system assigns: any outgoing connection could take one of those before the server begins to
 * listen.
 */
public final class Ports {

  /** Below the ranges of Linux (32,768), macOS and Windows (49,152), with room for the bus. */
  private static final int FIRST = 11_000;

  private static final int LAST = 21_999;

  /** What Redis adds for the bus of a Cluster. */
  private static final int BUS = 10_000;

  private static final Random RANDOM = new Random();
  private static final Set<Integer> GIVEN = new HashSet<>();

  /** Each port that a process has is a byte of this file that it has locked. */
  private static final FileChannel CLAIMS = claims();

  private Ports() {}

  /** A free port whose Cluster bus port is free, too. */
  public static synchronized int free() {
    for (int attempt = 0; attempt < 10_000; attempt++) {
      int port = RANDOM.nextInt(FIRST, LAST + 1);
      if (!GIVEN.contains(port) && isFree(port) && isFree(port + BUS) && isOurs(port)) {
        GIVEN.add(port);
        return port;
      }
    }
    throw new IllegalStateException("No port of %d to %d is free".formatted(FIRST, LAST));
  }

  /** Other processes of tests do not get it while this one runs. */
  private static boolean isOurs(int port) {
    try {
      return CLAIMS.tryLock(port, 1, false) != null;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static FileChannel claims() {
    Path file =
        Path.of(System.getProperty("java.io.tmpdir"))
            .resolve("limiter-test-ports-" + System.getProperty("user.name"));
    try {
      return FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static boolean isFree(int port) {
    try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
      return socket.isBound();
    } catch (IOException taken) {
      return false;
    }
  }
}
