// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.testing;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * Gives a redis-server another wall clock than its machine has, by a library that is loaded before
 * libc. That is compiled here, so it requires a C compiler.
 */
public final class SkewedClock {

  private static final Duration COMPILES = Duration.ofSeconds(30);

  /** Needs no header, which a machine with a compiler may lack. */
  private static final String SOURCE =
      """
      struct time { long seconds; long rest; };
      extern void *dlsym(void *, const char *);
      extern char *getenv(const char *);
      extern long atol(const char *);

      static long skew(void) {
        const char *seconds = getenv("CLOCK_SKEW_SECONDS");
        return seconds ? atol(seconds) : 0;
      }

      static void *next(const char *name) { return dlsym((void *) -1L, name); }

      int gettimeofday(struct time *now, void *zone) {
        int (*real)(struct time *, void *) = next("gettimeofday");
        int result = real(now, zone);
        now->seconds += skew();
        return result;
      }

      int clock_gettime(int clock, struct time *now) {
        int (*real)(int, struct time *) = next("clock_gettime");
        int result = real(clock, now);
        if (clock == 0) now->seconds += skew();
        return result;
      }

      long time(long *into) {
        struct time now;
        gettimeofday(&now, 0);
        if (into) *into = now.seconds;
        return now.seconds;
      }
      """;

  private final Path library;

  private SkewedClock(Path library) {
    this.library = library;
  }

  /** Empty if it cannot be compiled. */
  public static Optional<SkewedClock> compile() {
    Path directory = TemporaryDirectory.create("limiter-clock-");
    Path source = directory.resolve("clock.c");
    Path library = directory.resolve("clock.so");
    try {
      Files.writeString(source, SOURCE);
      Process compiler =
          new ProcessBuilder(
                  List.of("cc", "-shared", "-fPIC", "-nostdlib", "-o", library + "", source + ""))
              .inheritIO()
              .start();
      return ProcessSignals.endsWithin(compiler, COMPILES) && compiler.exitValue() == 0
          ? Optional.of(new SkewedClock(library))
          : Optional.empty();
    } catch (IOException noCompiler) {
      return Optional.empty();
    }
  }

  /**
   * @param server not started yet
   * @param skew whole seconds; negative for a clock that is behind
   */
  public RedisProcess give(RedisProcess server, Duration skew) {
    return server
        .environment("LD_PRELOAD", library.toString())
        .environment("CLOCK_SKEW_SECONDS", Long.toString(skew.toSeconds()));
  }
}
