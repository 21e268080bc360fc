// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

/** Shows how a training goes on the driver's console: one line that changes on a terminal, a line now and then elsewhere. */
final class ProgressLine {
  private static final long PAUSE_NANOSECONDS = 5_000_000_000L;

  private final boolean live = System.console() != null;
  private String shown = "";
  private long nextLine = System.nanoTime();

  void show(String text) {
    if (text.isEmpty() || text.equals(shown)) {
      return;
    }
    if (live) {
      System.err.print("\r\033[K" + text);
    } else if (System.nanoTime() >= nextLine) {
      nextLine = System.nanoTime() + PAUSE_NANOSECONDS;
      System.err.println(text);
    }
    shown = text;
  }

  void end() {
    if (live && !shown.isEmpty()) {
      System.err.println();
    } else if (!shown.isEmpty()) {
      System.err.println(shown);
    }
  }
}
