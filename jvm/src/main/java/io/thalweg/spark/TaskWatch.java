// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.ThalwegException;
import org.apache.spark.TaskContext;

/** Tells native work, which sees no interrupts, when Spark wants its task to end. */
final class TaskWatch implements AutoCloseable {
  private static final long INTERVAL_MILLISECONDS = 200;

  private final TaskContext context;
  private final Thread thread;
  private Runnable cancel;
  private boolean cancelled;

  TaskWatch(TaskContext context) {
    this.context = context;
    thread = new Thread(this::watch, "thalweg-watch-" + context.taskAttemptId());
    thread.setDaemon(true);
    thread.start();
  }

  /** What is to be cancelled from now on; at once if the task has been already. */
  synchronized void onCancel(Runnable cancel) {
    this.cancel = cancel;
    if (cancelled) {
      cancel.run();
    }
  }

  /** Throws if the task is to end. For Java code, as often as it likes. */
  void check() {
    if (context.isInterrupted()) {
      throw new ThalwegException("Spark has cancelled this task");
    }
  }

  private void watch() {
    try {
      while (!context.isInterrupted()) {
        Thread.sleep(INTERVAL_MILLISECONDS);
      }
      synchronized (this) {
        cancelled = true;
        if (cancel != null) {
          cancel.run();
        }
      }
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void close() {
    thread.interrupt();
  }
}
