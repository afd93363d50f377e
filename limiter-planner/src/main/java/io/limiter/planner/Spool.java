// SPDX-License-Identifier: Apache-2.0
package io.limiter.planner;

import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.stream.Stream;

/**
 * The calls of a log in files: first parts by the subject's hash, as they are read; then, one part
 * after another, one file in which the calls of each subject stand together in the order of their
 * times. Subjects do not share state, so the order between them is irrelevant, and a replay keeps
 * the state of one.
 *
 * <p>A part that does not fit into memory is divided again. One subject that does not fit alone is
 * sorted in runs, which are merged, and only if its lines are not in order.
 */
final class Spool implements Closeable {

  /** The status of a call counts as a failure. */
  static final byte FAILED = 1;

  /** Today's limiter denied the call. */
  static final byte DENIED = 2;

  /** The most calls that are grouped in memory, about 40 bytes each. */
  static final int MAX_IN_MEMORY = 1_000_000;

  private static final int PART_BITS = 6;
  private static final int PARTS = 1 << PART_BITS;
  private static final int BUFFER = 1 << 15;

  /** Time, subject, cost, flags. */
  private static final int RAW = 8 + 8 + 4 + 1;

  /** Subject, number of calls, units; of more than one call the demand follows. */
  private static final int HEAD = 8 + 8 + 8;

  /** Time, cost, flags. */
  private static final int CALL = 8 + 4 + 1;

  private final Path directory;
  private final int maxInMemory;
  private final Part[] parts = new Part[PARTS];
  private final Path grouped;
  private final Thread cleaner;
  private int files;

  /** One subject of the grouped file. */
  interface Visitor {

    /**
     * A subject begins.
     *
     * @param demand the largest number of units within each window, see {@link #group}
     * @return whether its calls are wanted
     */
    boolean begin(long subject, long calls, long units, long[] demand);

    /** The next of its calls; none is earlier than the one before. */
    void call(long micros, int cost, byte flags);

    /** It has no more calls. Not asked if they were not wanted. */
    void end();
  }

  Spool(Path parent, int maxInMemory) throws IOException {
    this.maxInMemory = maxInMemory;
    this.directory = Files.createTempDirectory(parent, "limiter-planner");
    this.grouped = directory.resolve("calls");
    this.cleaner = new Thread(this::delete);
    Runtime.getRuntime().addShutdownHook(cleaner);
    for (int p = 0; p < PARTS; p++) {
      parts[p] = new Part(directory.resolve("part" + files++));
    }
  }

  void add(long micros, long subject, int cost, byte flags) throws IOException {
    parts[(int) (subject >>> (Long.SIZE - PART_BITS))].add(micros, subject, cost, flags);
  }

  Path file(String name) {
    return directory.resolve(name);
  }

  /**
   * Puts the calls of each subject together; then no more can be added.
   *
   * @param windowsMicros for which the demand of each subject is computed
   */
  void group(long[] windowsMicros) throws IOException {
    try (Writer writer = new Writer(grouped, windowsMicros)) {
      for (Part part : parts) {
        group(part, PART_BITS, writer);
      }
    }
  }

  private void group(Part part, int usedBits, Writer writer) throws IOException {
    part.finish();
    if (part.calls <= maxInMemory) {
      if (part.calls > 0) {
        inMemory(part, writer);
      }
    } else if (part.isOneSubject || usedBits + PART_BITS > Long.SIZE) {
      oneSubject(part, writer);
    } else {
      Part[] smaller = new Part[PARTS];
      for (int p = 0; p < PARTS; p++) {
        smaller[p] = new Part(directory.resolve("part" + files++));
      }
      int shift = Long.SIZE - usedBits - PART_BITS;
      try (RawCursor all = new RawCursor(part.file, 0, part.calls)) {
        while (all.next()) {
          smaller[(int) (all.subject >>> shift) & (PARTS - 1)].add(
              all.micros, all.subject, all.cost, all.flags);
        }
      }
      Files.delete(part.file);
      for (Part one : smaller) {
        group(one, usedBits + PART_BITS, writer);
      }
      return;
    }
    Files.deleteIfExists(part.file);
  }

  private static void inMemory(Part part, Writer writer) throws IOException {
    int size = (int) part.calls;
    long[] micros = new long[size];
    int[] costs = new int[size];
    byte[] flags = new byte[size];
    int[] ids = new int[size];
    Subjects subjects = new Subjects(size);
    try (RawCursor all = new RawCursor(part.file, 0, size)) {
      for (int i = 0; all.next(); i++) {
        micros[i] = all.micros;
        costs[i] = all.cost;
        flags[i] = all.flags;
        ids[i] = subjects.count(all.subject);
      }
    }
    int[] starts = new int[subjects.size + 1];
    for (int s = 0; s < subjects.size; s++) {
      starts[s + 1] = starts[s] + subjects.calls[s];
    }
    int[] order = new int[size];
    int[] next = starts.clone();
    for (int i = 0; i < size; i++) {
      order[next[ids[i]]++] = i;
    }
    int[] spare = new int[0];
    for (int s = 0; s < subjects.size; s++) {
      int from = starts[s];
      int to = starts[s + 1];
      if (!isSorted(micros, order, from, to)) {
        spare = spare.length < to - from ? new int[to - from] : spare;
        sort(micros, order, from, to, spare);
      }
      writer.write(subjects.hashes[s], micros, costs, flags, order, from, to);
    }
  }

  private static boolean isSorted(long[] micros, int[] order, int from, int to) {
    for (int i = from + 1; i < to; i++) {
      if (micros[order[i]] < micros[order[i - 1]]) {
        return false;
      }
    }
    return true;
  }

  /** Merge sort, which keeps the order of calls of one time. */
  private static void sort(long[] micros, int[] order, int from, int to, int[] spare) {
    if (to - from < 2) {
      return;
    }
    int middle = (from + to) >>> 1;
    sort(micros, order, from, middle, spare);
    sort(micros, order, middle, to, spare);
    if (micros[order[middle - 1]] <= micros[order[middle]]) {
      return;
    }
    int left = middle - from;
    System.arraycopy(order, from, spare, 0, left);
    int l = 0;
    int r = middle;
    int at = from;
    while (l < left) {
      order[at++] = r < to && micros[order[r]] < micros[spare[l]] ? order[r++] : spare[l++];
    }
  }

  /** A subject that is larger than memory: runs are sorted and merged if they are out of order. */
  private void oneSubject(Part part, Writer writer) throws IOException {
    Path file = part.file;
    if (!part.isSorted) {
      file = merged(part);
    }
    List<RawCursor> cursors = new ArrayList<>();
    try {
      for (int c = 0; c <= writer.windows.length; c++) {
        cursors.add(new RawCursor(file, 0, part.calls));
      }
      writer.write(part.subject, part.calls, cursors);
    } finally {
      for (RawCursor cursor : cursors) {
        cursor.close();
      }
    }
    Files.delete(file);
  }

  private Path merged(Part part) throws IOException {
    Part runs = new Part(directory.resolve("part" + files++));
    try (RawCursor all = new RawCursor(part.file, 0, part.calls)) {
      long[] micros = new long[maxInMemory];
      int[] costs = new int[maxInMemory];
      byte[] flags = new byte[maxInMemory];
      int[] order = new int[maxInMemory];
      int[] spare = new int[maxInMemory];
      for (long done = 0; done < part.calls; done += maxInMemory) {
        int size = (int) Math.min(maxInMemory, part.calls - done);
        for (int i = 0; i < size && all.next(); i++) {
          micros[i] = all.micros;
          costs[i] = all.cost;
          flags[i] = all.flags;
          order[i] = i;
        }
        sort(micros, order, 0, size, spare);
        for (int i = 0; i < size; i++) {
          int o = order[i];
          runs.add(micros[o], part.subject, costs[o], flags[o]);
        }
      }
    }
    runs.finish();
    Part sorted = new Part(directory.resolve("part" + files++));
    PriorityQueue<RawCursor> heads =
        new PriorityQueue<>(
            Comparator.<RawCursor>comparingLong(c -> c.micros).thenComparingLong(c -> c.first));
    List<RawCursor> open = new ArrayList<>();
    try {
      for (long from = 0; from < part.calls; from += maxInMemory) {
        RawCursor run = new RawCursor(runs.file, from, Math.min(maxInMemory, part.calls - from));
        open.add(run);
        if (run.next()) {
          heads.add(run);
        }
      }
      for (RawCursor head = heads.poll(); head != null; head = heads.poll()) {
        sorted.add(head.micros, part.subject, head.cost, head.flags);
        if (head.next()) {
          heads.add(head);
        }
      }
    } finally {
      for (RawCursor run : open) {
        run.close();
      }
    }
    sorted.finish();
    Files.delete(runs.file);
    Files.delete(part.file);
    return sorted.file;
  }

  /** Visits all subjects, those with the calls that a visitor wants. */
  void visit(Visitor visitor, int windows) {
    long[] demand = new long[windows];
    try (Input input = new Input(grouped)) {
      while (input.has(HEAD)) {
        ByteBuffer buffer = input.buffer;
        long subject = buffer.getLong();
        long calls = buffer.getLong();
        long units = buffer.getLong();
        if (calls == 1) {
          Arrays.fill(demand, units);
        } else {
          input.require(8 * windows);
          for (int w = 0; w < windows; w++) {
            demand[w] = buffer.getLong();
          }
        }
        if (!visitor.begin(subject, calls, units, demand)) {
          input.skip(calls * CALL);
          continue;
        }
        for (long c = 0; c < calls; c++) {
          input.require(CALL);
          visitor.call(buffer.getLong(), buffer.getInt(), buffer.get());
        }
        visitor.end();
      }
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }

  @Override
  public void close() {
    delete();
    try {
      Runtime.getRuntime().removeShutdownHook(cleaner);
    } catch (IllegalStateException endsAnyway) {
      // the hook runs already
    }
  }

  private void delete() {
    for (Part part : parts) {
      if (part != null) {
        part.abandon();
      }
    }
    try (Stream<Path> all = Files.list(directory)) {
      for (Path file : all.toList()) {
        Files.deleteIfExists(file);
      }
      Files.deleteIfExists(directory);
    } catch (IOException gone) {
      // the files are in the directory for temporary ones
    }
  }

  /** Calls in the order in which they were read. */
  private static final class Part {

    final Path file;
    private final ByteBuffer buffer = ByteBuffer.allocate(BUFFER);
    private FileChannel channel;
    long calls;
    long subject;
    boolean isOneSubject = true;
    boolean isSorted = true;
    private long lastMicros = Long.MIN_VALUE;

    Part(Path file) throws IOException {
      this.file = file;
      this.channel =
          FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
    }

    void add(long micros, long who, int cost, byte flags) throws IOException {
      if (buffer.remaining() < RAW) {
        flush();
      }
      isOneSubject &= calls == 0 || who == subject;
      isSorted &= micros >= lastMicros;
      lastMicros = micros;
      subject = who;
      calls++;
      buffer.putLong(micros).putLong(who).putInt(cost).put(flags);
    }

    private void flush() throws IOException {
      writeAll(channel, buffer);
    }

    void finish() throws IOException {
      flush();
      channel.close();
    }

    void abandon() {
      try {
        channel.close();
      } catch (IOException ignored) {
        // nothing of it is needed any more
      }
    }
  }

  private static void writeAll(FileChannel channel, ByteBuffer buffer) throws IOException {
    buffer.flip();
    while (buffer.hasRemaining()) {
      channel.write(buffer);
    }
    buffer.clear();
  }

  /** One call after another. */
  private static final class RawCursor implements Closeable {

    long micros;
    int cost;
    byte flags;

    final long first;
    private final Input input;
    private long left;
    long subject;

    RawCursor(Path file, long first, long calls) throws IOException {
      this.first = first;
      this.left = calls;
      this.input = new Input(file);
      input.skip(first * RAW);
    }

    boolean next() throws IOException {
      if (left == 0) {
        return false;
      }
      left--;
      input.require(RAW);
      micros = input.buffer.getLong();
      subject = input.buffer.getLong();
      cost = input.buffer.getInt();
      flags = input.buffer.get();
      return true;
    }

    @Override
    public void close() throws IOException {
      input.close();
    }
  }

  /** A file that is read from its beginning to its end. */
  static final class Input implements Closeable {

    final ByteBuffer buffer = ByteBuffer.allocate(BUFFER).limit(0);
    private final FileChannel channel;

    Input(Path file) throws IOException {
      channel = FileChannel.open(file, StandardOpenOption.READ);
    }

    /** Whether so many bytes follow. */
    boolean has(int bytes) throws IOException {
      if (buffer.remaining() >= bytes) {
        return true;
      }
      buffer.compact();
      while (buffer.position() < bytes && channel.read(buffer) >= 0) {
        // a file is read in few pieces
      }
      buffer.flip();
      return buffer.remaining() >= bytes;
    }

    void require(int bytes) throws IOException {
      if (!has(bytes)) {
        throw new EOFException("A temporary file is shorter than it was written");
      }
    }

    void skip(long bytes) throws IOException {
      if (bytes <= buffer.remaining()) {
        buffer.position(buffer.position() + (int) bytes);
        return;
      }
      channel.position(channel.position() + bytes - buffer.remaining());
      buffer.position(0).limit(0);
    }

    @Override
    public void close() throws IOException {
      channel.close();
    }
  }

  /** Writes subjects, each with its demand. */
  private static final class Writer implements Closeable {

    final long[] windows;
    private final long[] demand;
    private final long[] inWindow;
    private long[] times = {};
    private int[] units = {};
    private final FileChannel channel;
    private final ByteBuffer buffer = ByteBuffer.allocate(BUFFER);

    Writer(Path file, long[] windows) throws IOException {
      this.windows = windows;
      this.demand = new long[windows.length];
      this.inWindow = new long[windows.length];
      this.channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    }

    /** Writes a subject whose calls are at these places of an order. */
    void write(
        long subject, long[] micros, int[] costs, byte[] flags, int[] order, int from, int to)
        throws IOException {
      int size = to - from;
      if (times.length < size) {
        times = new long[2 * size];
        units = new int[2 * size];
      }
      long sum = 0;
      for (int i = 0; i < size; i++) {
        int o = order[from + i];
        times[i] = micros[o];
        units[i] = costs[o];
        sum += costs[o];
      }
      room(HEAD + 8 * windows.length);
      buffer.putLong(subject).putLong(size).putLong(sum);
      if (size > 1) {
        for (long window : windows) {
          buffer.putLong(demand(size, window));
        }
      }
      for (int i = 0; i < size; i++) {
        room(CALL);
        buffer.putLong(times[i]).putInt(units[i]).put(flags[order[from + i]]);
      }
    }

    private long demand(int size, long window) {
      int trailing = 0;
      long inside = 0;
      long most = 0;
      for (int i = 0; i < size; i++) {
        inside += units[i];
        while (times[i] - times[trailing] >= window) {
          inside -= units[trailing++];
        }
        most = Math.max(most, inside);
      }
      return most;
    }

    /**
     * Writes a subject that does not fit into memory.
     *
     * @param cursors over its calls: the first for the calls, then one that follows at the distance
     *     of each window
     */
    void write(long subject, long calls, List<RawCursor> cursors) throws IOException {
      room(HEAD + 8 * windows.length);
      long headAt = channel.position() + buffer.position();
      buffer.putLong(subject).putLong(calls).putLong(0);
      for (int w = 0; w < windows.length; w++) {
        buffer.putLong(0);
      }
      Arrays.fill(demand, 0);
      Arrays.fill(inWindow, 0);
      RawCursor leading = cursors.get(0);
      long sum = 0;
      for (int w = 0; w < windows.length; w++) {
        var unused = cursors.get(w + 1).next();
      }
      while (leading.next()) {
        sum += leading.cost;
        for (int w = 0; w < windows.length; w++) {
          RawCursor trailing = cursors.get(w + 1);
          inWindow[w] += leading.cost;
          while (leading.micros - trailing.micros >= windows[w]) {
            inWindow[w] -= trailing.cost;
            var unused = trailing.next();
          }
          demand[w] = Math.max(demand[w], inWindow[w]);
        }
        room(CALL);
        buffer.putLong(leading.micros).putInt(leading.cost).put(leading.flags);
      }
      patch(headAt + 16, sum);
    }

    /** Writes what is known only after the calls of the subject. */
    private void patch(long at, long sum) throws IOException {
      ByteBuffer head = ByteBuffer.allocate(8 + 8 * windows.length).putLong(sum);
      for (long one : demand) {
        head.putLong(one);
      }
      head.flip();
      long inBuffer = at - channel.position();
      if (inBuffer >= 0) {
        buffer.put((int) inBuffer, head.array(), 0, head.limit());
        return;
      }
      writeAll(channel, buffer);
      while (head.hasRemaining()) {
        at += channel.write(head, at);
      }
    }

    private void room(int bytes) throws IOException {
      if (buffer.remaining() < bytes) {
        writeAll(channel, buffer);
      }
    }

    @Override
    public void close() throws IOException {
      writeAll(channel, buffer);
      channel.close();
    }
  }

  /** Subjects of a part, numbered in the order of their first calls. */
  private static final class Subjects {

    private final long[] keys;
    private final int[] ids;
    private final int mask;
    int size;
    long[] hashes = new long[64];
    int[] calls = new int[64];

    Subjects(int most) {
      int capacity = Integer.highestOneBit(Math.max(16, most)) << 2;
      keys = new long[capacity];
      ids = new int[capacity];
      mask = capacity - 1;
    }

    int count(long hash) {
      int at = (int) hash & mask;
      while (ids[at] != 0 && keys[at] != hash) {
        at = at + 1 & mask;
      }
      if (ids[at] == 0) {
        if (size == hashes.length) {
          hashes = Arrays.copyOf(hashes, 2 * size);
          calls = Arrays.copyOf(calls, 2 * size);
        }
        keys[at] = hash;
        hashes[size] = hash;
        ids[at] = ++size;
      }
      calls[ids[at] - 1]++;
      return ids[at] - 1;
    }
  }
}
