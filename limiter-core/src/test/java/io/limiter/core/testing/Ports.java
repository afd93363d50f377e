// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.testing;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
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

  private Ports() {}

  /** A free port whose Cluster bus port is free, too. */
  public static synchronized int free() {
    for (int attempt = 0; attempt < 10_000; attempt++) {
      int port = RANDOM.nextInt(FIRST, LAST + 1);
      if (!GIVEN.contains(port) && isFree(port) && isFree(port + BUS)) {
        GIVEN.add(port);
        return port;
      }
    }
    throw new IllegalStateException("No port of %d to %d is free".formatted(FIRST, LAST));
  }

  private static boolean isFree(int port) {
    try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
      return socket.isBound();
    } catch (IOException taken) {
      return false;
    }
  }
}
