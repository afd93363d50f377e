// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.util;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/**
 * Caches the value of each key, up to a number of keys; the values of further keys are created at
 * each call. Nothing is removed: the cache is for keys of which a correct service has few.
 * Thread-safe; two threads at once may create a value twice.
 */
public final class BoundedCache<K, V> {

  private final int maxSize;
  private final Function<? super K, ? extends V> make;
  private final Map<K, V> values = new ConcurrentHashMap<>();

  /**
   * @param maxSize the number of keys whose values are kept
   * @param make creates a value; if it throws, so does {@link #get}
   */
  public BoundedCache(int maxSize, Function<? super K, ? extends V> make) {
    this.maxSize = maxSize;
    this.make = make;
  }

  /** Returns the value of a key. */
  public V get(K key) {
    V known = values.get(key);
    if (known != null) {
      return known;
    }
    V made = make.apply(key);
    if (values.size() < maxSize) {
      values.put(key, made);
    }
    return made;
  }
}
