// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Consumer;

/** Shows how a training goes on the driver's console: one line that changes on a terminal, a line now and then elsewhere. */
final class ProgressLine {
  private static final long PAUSE_NANOSECONDS = 5_000_000_000L;
  /** Linux's names of terminals. System.console() would be null under pyspark, which keeps standard input to itself. */
  private static final String TERMINALS = "/dev/(pts/|tty|console).*";

  private final boolean live = errorsGoToTerminal();
  private final Consumer<String> listener;
  private String shown = "";
  private long nextLine = System.nanoTime();

  /** @param listener hears every line, too */
  ProgressLine(Consumer<String> listener) {
    this.listener = listener;
  }

  void show(String text) {
    if (text.isEmpty() || text.equals(shown)) {
      return;
    }
    listener.accept(text);
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

  private static boolean errorsGoToTerminal() {
    try {
      return Files.readSymbolicLink(Path.of("/proc/self/fd/2")).toString().matches(TERMINALS);
    } catch (IOException unknown) {
      return false;
    }
  }
}
