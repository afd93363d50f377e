// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.testing;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/**
 * A command as typed by hand, on a connection of its own: servers and sentinels accept it, and no
 * client code is involved.
 */
public final class TypedCommand {

  private static final Duration PATIENCE = Duration.ofSeconds(5);

  private TypedCommand() {}

  /** The whole raw RESP reply. */
  public static String reply(int port, String command) throws IOException {
    return reply(port, command, PATIENCE);
  }

  static String reply(int port, String command, Duration patience) throws IOException {
    int millis = (int) patience.toMillis();
    try (Socket socket = new Socket()) {
      socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), millis);
      socket.setSoTimeout(millis);
      socket
          .getOutputStream()
          .write((command.strip() + "\r\n").getBytes(StandardCharsets.US_ASCII));
      return first(socket.getInputStream());
    }
  }

  private static String first(InputStream in) throws IOException {
    RespReplies replies = new RespReplies();
    byte[] buffer = new byte[8_192];
    for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
      List<byte[]> whole = replies.add(Arrays.copyOf(buffer, read));
      if (!whole.isEmpty()) {
        return new String(whole.get(0), StandardCharsets.UTF_8);
      }
    }
    throw new IOException("The connection ended before the reply");
  }
}
