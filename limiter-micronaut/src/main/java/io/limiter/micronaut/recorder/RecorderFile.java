// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.recorder;

import java.io.Closeable;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import org.jspecify.annotations.Nullable;

/**
 * A file of lines that is renamed when it is full. Not thread-safe. After a failure the next write
 * tries again.
 */
final class RecorderFile implements Closeable {

  /** Another instance writes to it, such as the one that this replaces. */
  static final class InUseException extends IOException {
    private static final long serialVersionUID = 1;

    InUseException() {
      super("another instance writes to it; give each a file of its own");
    }
  }

  private final Path file;
  private final String header;
  private final long maxSize;
  private final int files;

  private @Nullable FileChannel channel;
  private long size;
  private boolean cut;

  /**
   * @param header the first line of each file
   * @param maxSize bytes of one file
   * @param files the number of files
   */
  RecorderFile(Path file, String header, long maxSize, int files) {
    this.file = file;
    this.header = header;
    this.maxSize = maxSize;
    this.files = files;
  }

  /** Opens the file, and continues it if it is one of these. */
  FileChannel open() throws IOException {
    FileChannel open = channel;
    if (open != null && file.toFile().length() == size) { // else emptied, moved or replaced
      return open;
    }
    close();
    if (Files.exists(file) && !(Files.isRegularFile(file) && begins())) {
      throw new IOException("it has other content than recorded calls");
    }
    open =
        FileChannel.open(
            file, StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.APPEND);
    if (!isLocked(open)) {
      open.close();
      throw new InUseException();
    }
    size = open.size();
    if (size == 0) {
      cut = false;
      try {
        writeAll(open, ByteBuffer.wrap((header + '\n').getBytes(StandardCharsets.UTF_8)));
      } catch (IOException full) {
        open.close();
        Files.deleteIfExists(file); // half a header would be other content
        throw full;
      }
    }
    channel = open;
    return open;
  }

  /**
   * Two instances would rename each other's files. The lock is behind what is written, so that
   * others may read that everywhere, and ends when the channel is closed.
   */
  private static boolean isLocked(FileChannel open) {
    try {
      return open.tryLock(Long.MAX_VALUE - 1, 1, false) != null;
    } catch (OverlappingFileLockException here) {
      return false;
    } catch (IOException unsupported) { // by the file system
      return true;
    }
  }

  private boolean begins() throws IOException {
    try (RandomAccessFile in = new RandomAccessFile(file.toFile(), "r")) {
      if (in.length() == 0) {
        return true;
      }
      in.seek(in.length() - 1);
      cut = in.read() != '\n'; // on a full disk, by a process that is gone
      byte[] first = new byte[header.length()];
      in.seek(0);
      return in.read(first) == first.length
          && new String(first, StandardCharsets.UTF_8).equals(header);
    }
  }

  /** Writes whole lines, fewer than fit in one file. */
  void write(ByteBuffer lines) throws IOException {
    FileChannel open = open();
    if (size + lines.remaining() > maxSize) {
      rotate();
      open = open();
    }
    if (cut) { // ends the line of a write that failed
      writeAll(open, ByteBuffer.wrap(new byte[] {'\n'}));
    }
    cut = true;
    writeAll(open, lines);
    cut = false;
  }

  private void writeAll(FileChannel open, ByteBuffer bytes) throws IOException {
    while (bytes.hasRemaining()) {
      size += open.write(bytes);
    }
  }

  private void rotate() throws IOException {
    close();
    int oldest = files - 1;
    while (Files.deleteIfExists(numbered(oldest))) { // several, of a larger number of files
      oldest++;
    }
    for (int number = files - 2; number >= 0; number--) {
      Path from = numbered(number);
      if (Files.exists(from)) {
        Files.move(from, numbered(number + 1), StandardCopyOption.REPLACE_EXISTING);
      }
    }
  }

  private Path numbered(int number) {
    return number == 0 ? file : file.resolveSibling(file.getFileName() + "." + number);
  }

  @Override
  public void close() throws IOException {
    FileChannel open = channel;
    channel = null;
    if (open != null) {
      open.close();
    }
  }
}
