// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.testing;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Fails each test during which an event loop was blocked, by any code. JUnit finds it by itself
 * where {@code junit.jupiter.extensions.autodetection.enabled} is set.
 */
public final class EventLoopExtension
    implements BeforeAllCallback, AfterEachCallback, AfterAllCallback {

  @Override
  public void beforeAll(ExtensionContext context) {
    EventLoopBlocking.install();
  }

  @Override
  public void afterEach(ExtensionContext context) {
    assertNoneBlocked();
  }

  @Override
  public void afterAll(ExtensionContext context) {
    assertNoneBlocked();
  }

  private static void assertNoneBlocked() {
    List<Throwable> blocked = EventLoopBlocking.take();
    if (!blocked.isEmpty()) {
      // A loop that reads a file does so many times: each place is reported once.
      Map<String, Throwable> places = new LinkedHashMap<>();
      blocked.forEach(one -> places.putIfAbsent(place(one), one));
      AssertionError failure =
          new AssertionError("Calls that blocked an event loop: " + blocked.size());
      places.values().forEach(failure::addSuppressed);
      throw failure;
    }
  }

  private static String place(Throwable blocked) {
    return Arrays.stream(blocked.getStackTrace())
        .filter(frame -> !frame.getClassName().startsWith("java."))
        .map(StackTraceElement::toString)
        .collect(Collectors.joining());
  }
}
