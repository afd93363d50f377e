// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.recorder;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A recorded file is continued, bounded and renamed. */
class RecorderFileTest {

  private static final String HEADER = "a,b";
  private static final String LINE = "1234567,9\n";

  @TempDir private Path directory;
  private Path path;

  @BeforeEach
  void name() {
    path = directory.resolve("calls.csv");
  }

  private RecorderFile file(int maxSize, int files) {
    return new RecorderFile(path, HEADER, maxSize, files);
  }

  private static void write(RecorderFile file, String lines) throws IOException {
    file.write(ByteBuffer.wrap(lines.getBytes(StandardCharsets.UTF_8)));
  }

  private List<String> names() throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      return files.map(each -> each.getFileName().toString()).sorted().toList();
    }
  }

  @Test
  void aFullFileIsRenamedAndTheOldestDeleted() throws IOException {
    try (RecorderFile file = file(30, 3)) { // the header and two lines
      for (int line = 0; line < 9; line++) {
        write(file, LINE.replace('9', (char) ('0' + line)));
      }
    }
    assertThat(names()).containsExactly("calls.csv", "calls.csv.1", "calls.csv.2");
    assertThat(path).hasContent("a,b\n1234567,8\n");
    assertThat(directory.resolve("calls.csv.1")).hasContent("a,b\n1234567,6\n1234567,7\n");
    assertThat(directory.resolve("calls.csv.2")).hasContent("a,b\n1234567,4\n1234567,5\n");
  }

  @Test
  void aSingleFileBeginsAgain() throws IOException {
    try (RecorderFile file = file(24, 1)) {
      for (int line = 0; line < 5; line++) {
        write(file, LINE.replace('9', (char) ('0' + line)));
      }
    }
    assertThat(names()).containsExactly("calls.csv");
    assertThat(path).hasContent("a,b\n1234567,4\n");
  }

  @Test
  void theFileOfAnEarlierStartIsContinued() throws IOException {
    for (int start = 0; start < 2; start++) {
      try (RecorderFile file = file(1_000, 3)) {
        write(file, LINE);
      }
    }
    assertThat(path).hasContent("a,b\n" + LINE + LINE);
  }

  @Test
  void anEmptyFileGetsTheHeader() throws IOException {
    Files.createFile(path);
    try (RecorderFile file = file(1_000, 3)) {
      file.open();
    }
    assertThat(path).hasContent("a,b\n");
  }

  @Test
  void aFileThatIsTakenAwayIsReplaced() throws IOException {
    try (RecorderFile file = file(1_000, 3)) {
      write(file, LINE);
      Files.move(path, directory.resolve("moved"));
      write(file, LINE);
    }
    assertThat(path).hasContent("a,b\n" + LINE);
  }

  @Test
  void aFileThatIsEmptiedOrReplacedBeginsAgain() throws IOException {
    try (RecorderFile file = file(1_000, 3)) {
      write(file, LINE);
      Files.writeString(path, "");
      write(file, LINE);
      assertThat(path).hasContent("a,b\n" + LINE);
      Files.move(path, directory.resolve("moved"));
      Files.createFile(path);
      write(file, LINE);
    }
    assertThat(path).hasContent("a,b\n" + LINE);
  }

  @Test
  void aLineThatAnEarlierStartHasCutIsEnded() throws IOException {
    Files.writeString(path, "a,b\n1234");
    try (RecorderFile file = file(1_000, 3)) {
      write(file, LINE);
      write(file, LINE);
    }
    assertThat(path).hasContent("a,b\n1234\n" + LINE + LINE);
  }

  @Test
  void fewerFilesThanBeforeAreKept() throws IOException {
    for (int number = 1; number < 5; number++) {
      Files.writeString(directory.resolve("calls.csv." + number), HEADER);
    }
    try (RecorderFile file = file(24, 2)) {
      for (int line = 0; line < 3; line++) {
        write(file, LINE);
      }
    }
    assertThat(names()).containsExactly("calls.csv", "calls.csv.1");
    assertThat(directory.resolve("calls.csv.1")).hasContent("a,b\n" + LINE + LINE);
  }

  @Test
  void aFileIsOfOneInstance() throws IOException {
    RecorderFile first = file(24, 3);
    try (RecorderFile second = file(24, 3)) {
      for (int line = 0; line < 3; line++) {
        write(first, LINE);
        assertThatThrownBy(() -> write(second, LINE))
            .hasMessageStartingWith("another instance writes to it");
      }
      assertThat(directory.resolve("calls.csv.1")).hasContent("a,b\n" + LINE + LINE);
      first.close();
      write(second, LINE);
    }
    assertThat(path).hasContent("a,b\n" + LINE + LINE);
  }

  @Test
  void otherContentIsKept() throws IOException {
    Files.writeString(path, "something else");
    try (RecorderFile file = file(1_000, 3)) {
      assertThatThrownBy(file::open).hasMessage("it has other content than recorded calls");
    }
    assertThat(path).hasContent("something else");
  }

  /** A directory in place of an old file cannot be deleted, as on a disk without permission. */
  @Test
  void afterAFailureTheNextWriteTriesAgain() throws IOException {
    Path obstacle = Files.createDirectories(directory.resolve("calls.csv.1").resolve("full"));
    try (RecorderFile file = file(24, 2)) {
      write(file, LINE);
      write(file, LINE);
      assertThatThrownBy(() -> write(file, LINE)).isInstanceOf(IOException.class);
      Files.delete(obstacle);
      Files.delete(obstacle.getParent());
      write(file, LINE.replace('9', '0'));
    }
    assertThat(path).hasContent("a,b\n1234567,0\n");
    assertThat(directory.resolve("calls.csv.1")).hasContent("a,b\n" + LINE + LINE);
  }
}
