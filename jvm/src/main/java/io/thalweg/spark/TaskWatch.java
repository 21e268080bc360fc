// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import org.apache.spark.TaskContext;

/** Tells native work, which sees no interrupts, when Spark wants its task to end. */
final class TaskWatch implements AutoCloseable {
  private static final long INTERVAL_MILLISECONDS = 200;

  private final Thread thread;

  TaskWatch(TaskContext context, Runnable cancel) {
    thread = new Thread(() -> watch(context, cancel), "thalweg-watch-" + context.taskAttemptId());
    thread.setDaemon(true);
    thread.start();
  }

  private static void watch(TaskContext context, Runnable cancel) {
    try {
      while (!context.isInterrupted()) {
        Thread.sleep(INTERVAL_MILLISECONDS);
      }
      cancel.run();
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void close() {
    thread.interrupt();
  }
}
