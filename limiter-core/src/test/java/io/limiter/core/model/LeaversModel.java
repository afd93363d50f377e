// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.model;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The future departures of a {@link LeakyModel} that were given up. */
final class LeaversModel {

  private static final int MOST_SPANS = 8;

  /**
   * Consecutive departures of which {@code free} were given up; which ones is unknown unless all
   * were.
   */
  private record Span(BigInteger first, BigInteger last, long free) {}

  private final BigInteger interval;
  private final List<Span> spans = new ArrayList<>();

  /**
   * @param interval between two departures
   */
  LeaversModel(BigInteger interval) {
    this.interval = interval;
  }

  /** What is left of them at a time: the free ones are assumed to be the earliest. */
  LeaversModel at(BigInteger time) {
    LeaversModel left = new LeaversModel(interval);
    for (Span span : spans) {
      BigInteger first = span.first;
      long free = span.free;
      while (first.compareTo(time) <= 0 && free > 0) {
        first = first.add(interval);
        free--;
      }
      if (free > 0) {
        left.spans.add(new Span(first, span.last, free));
      }
    }
    return left;
  }

  long free() {
    return spans.stream().mapToLong(Span::free).sum();
  }

  private long departures(BigInteger from, BigInteger to) {
    return to.subtract(from).divide(interval).longValueExact();
  }

  private long length(Span span) {
    return departures(span.first, span.last) + 1;
  }

  private boolean isKnown(Span span) {
    return span.free == length(span);
  }

  /** The earliest that is known to be free. */
  Optional<BigInteger> earliest() {
    return spans.stream().filter(this::isKnown).findFirst().map(Span::first);
  }

  /** The earliest is handed out again. */
  void takeEarliest() {
    Span span = spans.stream().filter(this::isKnown).findFirst().orElseThrow();
    int index = spans.indexOf(span);
    spans.set(index, new Span(span.first.add(interval), span.last, span.free - 1));
    spans.removeIf(one -> one.free == 0);
  }

  /**
   * If the last departures before this one are known to be free: removes them, and returns the
   * first.
   */
  Optional<BigInteger> takeLast(BigInteger next) {
    if (spans.isEmpty()) {
      return Optional.empty();
    }
    Span last = spans.get(spans.size() - 1);
    if (!isKnown(last) || !last.last.add(interval).equals(next)) {
      return Optional.empty();
    }
    spans.remove(last);
    return Optional.of(last.first);
  }

  /**
   * Adds consecutive departures that are given up. Returns false if some of them are already free.
   */
  boolean add(BigInteger first, BigInteger last) {
    Span given = new Span(first, last, departures(first, last) + 1);
    for (Span span : spans) {
      if (span.last.compareTo(first) >= 0 && span.first.compareTo(last) <= 0) {
        return addTo(span, given);
      }
    }
    spans.add(given);
    spans.sort((one, other) -> one.first.compareTo(other.first));
    int at = spans.indexOf(given);
    if (at + 1 < spans.size() && isKnown(spans.get(at + 1)) && distance(at) == 1) {
      join(at);
    }
    if (at > 0 && isKnown(spans.get(at - 1)) && distance(at - 1) == 1) {
      join(at - 1);
    }
    if (spans.size() > MOST_SPANS) {
      join(closest());
    }
    return true;
  }

  private boolean addTo(Span span, Span given) {
    boolean inside =
        span.first.compareTo(given.first) <= 0
            && span.last.compareTo(given.last) >= 0
            && span.free + given.free <= length(span);
    if (inside) {
      int index = spans.indexOf(span);
      spans.set(index, new Span(span.first, span.last, span.free + given.free));
    }
    return inside;
  }

  /** The number of departures between the end of a span and the next one. */
  private long distance(int index) {
    return departures(spans.get(index).last, spans.get(index + 1).first);
  }

  private int closest() {
    int closest = 0;
    for (int i = 1; i + 1 < spans.size(); i++) {
      closest = distance(i) < distance(closest) ? i : closest;
    }
    return closest;
  }

  private void join(int index) {
    Span one = spans.get(index);
    Span other = spans.remove(index + 1);
    spans.set(index, new Span(one.first, other.last, one.free + other.free));
  }
}
