// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.Model;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * The models loaded in this JVM. Tasks that use the same model share it; it is closed when none has used it for a while,
 * so that the tasks of the next stage, or the next batch of a stream, need not load it again.
 */
final class SharedModels {
  private static final long IDLE_SECONDS = 60;
  private static final Map<Key, Entry> OPEN = new HashMap<>();
  private static ScheduledExecutorService closer;

  /** What a model is loaded with. */
  record Key(String hash, int threads, Model.Precision precision) {}

  private static final class Entry {
    CachedFile file;
    Model model;
    int users;
    long idleSince;
  }

  /** A use of a model; closing it ends the use. */
  static final class Lease implements AutoCloseable {
    private final Entry entry;
    private boolean ended;

    private Lease(Entry entry) {
      this.entry = entry;
    }

    Model model() {
      return entry.model;
    }

    @Override
    public void close() {
      synchronized (OPEN) {
        if (!ended) {
          ended = true;
          --entry.users;
          entry.idleSince = System.nanoTime();
        }
      }
    }
  }

  /** Gives the file of a model, which may have to be fetched first. */
  @FunctionalInterface
  interface Source {
    CachedFile use();
  }

  private SharedModels() {}

  static Lease use(Key key, Source source) {
    Entry entry;
    synchronized (OPEN) {
      entry = OPEN.computeIfAbsent(key, missing -> new Entry());
      ++entry.users;
      startCloser();
    }
    Lease lease = new Lease(entry);
    try {
      synchronized (entry) {
        if (entry.model == null) {
          open(entry, key, source.use());
        }
      }
      return lease;
    } catch (RuntimeException failure) {
      lease.close();
      throw failure;
    }
  }

  private static void open(Entry entry, Key key, CachedFile file) {
    try {
      entry.model = new Model(file.path(), key.threads(), key.precision());
      entry.file = file;
    } finally {
      if (entry.model == null) {
        file.close();
      }
    }
  }

  private static void startCloser() {
    if (closer == null) {
      closer =
          Executors.newSingleThreadScheduledExecutor(
              task -> {
                Thread thread = new Thread(task, "thalweg-model-closer");
                thread.setDaemon(true);
                return thread;
              });
      closer.scheduleWithFixedDelay(
          () -> closeIdle(TimeUnit.SECONDS.toNanos(IDLE_SECONDS)), IDLE_SECONDS, IDLE_SECONDS / 4, TimeUnit.SECONDS);
    }
  }

  /** Closes the models that nobody has used for so long. */
  static void closeIdle(long nanoseconds) {
    synchronized (OPEN) {
      for (Iterator<Entry> entries = OPEN.values().iterator(); entries.hasNext(); ) {
        Entry entry = entries.next();
        if (entry.users == 0 && System.nanoTime() - entry.idleSince >= nanoseconds) {
          entries.remove();
          if (entry.model != null) {
            entry.model.close();
            entry.file.close();
          }
        }
      }
    }
  }
}
