// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.testing.leak;

import java.util.List;
import java.util.Optional;

/** A public type with members whose types are hidden, and others. */
public class Leaking {

  /** Public, but not part of the API. */
  public static final class Hidden {}

  static final class NotPublic {}

  /** Leaks in a type argument. */
  public final Optional<List<Hidden>> field = Optional.empty();

  final Optional<Hidden> notVisible = Optional.empty();

  protected Leaking(NotPublic leaked) {}

  public Leaking() {}

  public Hidden returned() {
    return new Hidden();
  }

  public void taken(List<? extends Hidden[]> leaked) {}

  public String shown(List<Leaking> all) {
    return all.toString();
  }

  void notVisible(Hidden one) {}
}
