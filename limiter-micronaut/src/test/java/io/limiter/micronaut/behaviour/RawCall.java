// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * A call that is sent to the letter, on a connection of its own: clients tidy up what attackers
 * send.
 */
final class RawCall {

  private static final int PATIENCE_MILLIS = 20_000;

  /** In place of a status: the server has closed the connection without an answer. */
  static final int CLOSED = 0;

  private RawCall() {}

  /**
   * What came back first.
   *
   * @param fields by their names, in lower case
   */
  record Answer(int status, Map<String, String> fields) {

    String field(String name) {
      return fields.getOrDefault(name, "");
    }
  }

  /**
   * @param call the request line, the fields, an empty line, and as much of the body as is to be
   *     sent; lines end with a line feed here
   */
  static Answer send(int port, String call) {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      socket.setSoTimeout(PATIENCE_MILLIS);
      socket
          .getOutputStream()
          .write(call.replace("\n", "\r\n").getBytes(StandardCharsets.ISO_8859_1));
      BufferedReader in =
          new BufferedReader(
              new InputStreamReader(socket.getInputStream(), StandardCharsets.ISO_8859_1));
      String status = in.readLine();
      if (status == null) {
        return new Answer(CLOSED, Map.of());
      }
      Map<String, String> fields = new TreeMap<>();
      for (String line = in.readLine(); line != null && !line.isEmpty(); line = in.readLine()) {
        int colon = line.indexOf(':');
        fields.put(
            line.substring(0, colon).toLowerCase(Locale.ROOT), line.substring(colon + 1).strip());
      }
      return new Answer(Integer.parseInt(status.split(" ")[1]), fields);
    } catch (IOException e) {
      throw new AssertionError(call + " got no answer", e);
    }
  }

  /** The same without a body. */
  static Answer send(int port, String method, String target, String... fields) {
    String more = fields.length == 0 ? "" : String.join("\n", fields) + "\n";
    return send(port, method + " " + target + " HTTP/1.1\nHost: localhost\n" + more + "\n");
  }
}
