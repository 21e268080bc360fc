// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.lang.ref.WeakReference;
import org.junit.jupiter.api.Test;

class LatestOfTest {
  private static final int MOST_COLLECTIONS = 3000;
  private static final long PAUSE_MILLISECONDS = 20;

  /** The only reference to the key is in here while it runs. */
  private static WeakReference<Object> use(LatestOf<Object, String> made) {
    Object key = new Object();
    assertEquals("value", made.get(key, given -> "value"));
    return new WeakReference<>(key);
  }

  @Test
  void keysAreNotKeptAlive() throws InterruptedException {
    LatestOf<Object, String> made = new LatestOf<>();
    WeakReference<Object> key = use(made);
    for (int i = 0; i < MOST_COLLECTIONS && key.get() != null; ++i) {
      System.gc();
      Thread.sleep(PAUSE_MILLISECONDS);
    }
    assertNull(key.get());
    assertEquals("another", made.get(new Object(), given -> "another"));
  }

  @Test
  void valuesAreMadeOnceForAKey() {
    LatestOf<Object, Object> made = new LatestOf<>();
    Object key = new Object();
    Object first = made.get(key, given -> new Object());
    assertSame(first, made.get(key, given -> new Object()));
    assertNotSame(first, made.get(new Object(), given -> new Object()));
    assertNotSame(first, made.get(key, given -> new Object()));
  }
}
