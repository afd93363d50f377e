// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Queue;

/**
 * A name server on loopback that returns the same address, set by the test, for every name. Its
 * records allow caching for an hour.
 */
public final class NameServer implements AutoCloseable {

  private static final int HEADER = 12;
  private static final int TYPE_A = 1;
  private static final int NO_SUCH_NAME = 3;
  private static final int TTL_SECONDS = 3_600;

  private final DatagramSocket socket;
  private final Queue<DatagramPacket> withheld = new ArrayDeque<>();
  private byte[] address;
  private boolean silent;
  private int questions;

  /** Reports that there is no such name, until an address is set. */
  public NameServer() {
    try {
      socket = new DatagramSocket(0, InetAddress.getLoopbackAddress());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    Thread thread = new Thread(this::serve, "name-server");
    thread.setDaemon(true);
    thread.start();
  }

  public InetSocketAddress at() {
    return (InetSocketAddress) socket.getLocalSocketAddress();
  }

  /** Names resolve to this address from now on. */
  public synchronized void lead(int... ipv4) {
    address = new byte[4];
    for (int i = 0; i < 4; i++) {
      address[i] = (byte) ipv4[i];
    }
  }

  /** There is no such name from now on. */
  public synchronized void leadNowhere() {
    address = null;
  }

  /** Keeps queries without an answer, until {@link #speak} is called. */
  public synchronized void fallSilent() {
    silent = true;
  }

  /** Answers the queries that it kept, and all others. */
  public synchronized void speak() {
    silent = false;
    while (!withheld.isEmpty()) {
      answer(withheld.remove());
    }
  }

  /** Queries for an IPv4 address so far. */
  public synchronized int questions() {
    return questions;
  }

  private void serve() {
    while (!socket.isClosed()) {
      DatagramPacket question = new DatagramPacket(new byte[512], 512);
      try {
        socket.receive(question);
      } catch (IOException closed) {
        return;
      }
      asked(question);
    }
  }

  private synchronized void asked(DatagramPacket question) {
    if (type(question.getData()) == TYPE_A) {
      questions++;
    }
    if (silent) {
      withheld.add(question);
    } else {
      answer(question);
    }
  }

  /** Header, the question again, and the address if there is one and it was requested. */
  private void answer(DatagramPacket question) {
    byte[] asked = question.getData();
    boolean known = address != null && type(asked) == TYPE_A;
    ByteBuffer reply = ByteBuffer.allocate(512);
    reply.put(asked, 0, 2).putShort((short) (0x8180 | (address == null ? NO_SUCH_NAME : 0)));
    reply.putShort((short) 1).putShort((short) (known ? 1 : 0)).putInt(0);
    reply.put(asked, HEADER, endOfName(asked) + 4 - HEADER);
    if (known) {
      reply.putShort((short) (0xc000 | HEADER)).putShort((short) TYPE_A).putShort((short) 1);
      reply.putInt(TTL_SECONDS).putShort((short) address.length).put(address);
    }
    try {
      byte[] bytes = Arrays.copyOf(reply.array(), reply.position());
      socket.send(new DatagramPacket(bytes, bytes.length, question.getSocketAddress()));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static int type(byte[] question) {
    return ByteBuffer.wrap(question).getShort(endOfName(question));
  }

  private static int endOfName(byte[] question) {
    int at = HEADER;
    while (question[at] != 0) {
      at += question[at] + 1;
    }
    return at + 1;
  }

  @Override
  public void close() {
    socket.close();
  }
}
