// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.Map;

/**
 * A lock that the processes of this host and the threads of this one share, by the name of a file. A process that ends in
 * whatever way gives its locks back. Closing a lock twice is allowed.
 */
final class ProcessLock implements AutoCloseable {
  enum Mode {
    /** Many may have it at once. */
    SHARED,
    /** Nobody else has it. */
    EXCLUSIVE
  }

  private static final long PATIENCE_MILLISECONDS = 120_000;
  private static final long PAUSE_MILLISECONDS = 20;
  /**
   * What this process holds. A file is open once at most: when a process closes a file, the system takes all locks that
   * the process has on it, also those through other descriptors.
   */
  private static final Map<Path, Held> HELD = new HashMap<>();

  private static final class Held {
    final FileChannel channel;
    final Mode mode;
    int owners;

    Held(FileChannel channel, Mode mode) {
      this.channel = channel;
      this.mode = mode;
    }
  }

  private final Path file;
  private boolean closed;

  private ProcessLock(Path file) {
    this.file = file;
  }

  /** Waits until it has the lock, but not for ever. Makes the file if it is missing. */
  static ProcessLock acquire(Path file, Mode mode) throws IOException {
    long end = System.nanoTime() + PATIENCE_MILLISECONDS * 1_000_000;
    try {
      for (ProcessLock lock = tryAcquire(file, mode); ; lock = tryAcquire(file, mode)) {
        if (lock != null) {
          return lock;
        }
        if (System.nanoTime() > end) {
          throw new IOException(file + " was held by others for " + PATIENCE_MILLISECONDS / 1000 + " s");
        }
        Thread.sleep(PAUSE_MILLISECONDS);
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while waiting for " + file, interrupted);
    }
  }

  /** Null if others have it. */
  static ProcessLock tryAcquire(Path file, Mode mode) throws IOException {
    synchronized (HELD) {
      Held held = HELD.get(file);
      if (held == null) {
        FileChannel channel = lockedChannel(file, mode);
        if (channel == null) {
          return null;
        }
        held = new Held(channel, mode);
        HELD.put(file, held);
      } else if (mode == Mode.EXCLUSIVE || held.mode == Mode.EXCLUSIVE) {
        return null;
      }
      ++held.owners;
      return new ProcessLock(file);
    }
  }

  private static FileChannel lockedChannel(Path file, Mode mode) throws IOException {
    FileChannel channel =
        FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
    FileLock lock = null;
    try {
      lock = channel.tryLock(0, Long.MAX_VALUE, mode == Mode.SHARED);
      return lock == null ? null : channel;
    } catch (OverlappingFileLockException anotherClassLoader) {
      return null;
    } finally {
      if (lock == null) {
        channel.close();
      }
    }
  }

  @Override
  public void close() throws IOException {
    synchronized (HELD) {
      if (closed) {
        return;
      }
      closed = true;
      Held held = HELD.get(file);
      if (--held.owners == 0) {
        HELD.remove(file);
        held.channel.close();
      }
    }
  }
}
