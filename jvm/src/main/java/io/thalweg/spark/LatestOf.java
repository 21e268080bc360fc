// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import java.lang.ref.WeakReference;
import java.util.function.Function;

/** What was made of the latest key, by identity. The key is not kept alive: a Spark context that was stopped is large. */
final class LatestOf<K, V> {
  private WeakReference<K> key = new WeakReference<>(null);
  private V value;

  /** Makes it, unless it was made of the same key the last time. */
  synchronized V get(K wanted, Function<K, V> make) {
    if (key.get() != wanted) {
      value = make.apply(wanted);
      key = new WeakReference<>(wanted);
    }
    return value;
  }
}
