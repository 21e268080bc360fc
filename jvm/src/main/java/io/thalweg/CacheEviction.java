// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Takes out of a {@link HostCache} what was not used for long, and what was used longest ago when there is too much. The
 * folder may hold other things: only names that the cache gives are looked at.
 */
final class CacheEviction {
  /** What entries are called: a word and a hash. */
  static final Pattern ENTRY = Pattern.compile("[a-z]+-[0-9a-f]{16,64}");
  static final String INCOMING = "incoming-";
  static final String USE = ".use";
  static final String LOCK = ".lock";

  private static final Duration ENTRY_AGE = Duration.ofDays(7);
  /** Nobody takes so long to write a file; whoever began it has ended. */
  private static final Duration INCOMING_AGE = Duration.ofDays(1);

  private final Path root;
  private final long budgetBytes;
  private final Instant now;

  CacheEviction(Path root, long budgetBytes, Instant now) {
    this.root = root;
    this.budgetBytes = budgetBytes;
    this.now = now;
  }

  /** A folder's time is that of its last use. */
  private record Entry(Path folder, Instant used, long bytes) {}

  /** Nobody else may be about to use the cache. */
  void run() throws IOException {
    List<Entry> entries = new ArrayList<>();
    try (Stream<Path> files = Files.list(root)) {
      for (Path file : (Iterable<Path>) files::iterator) {
        String name = file.getFileName().toString();
        if (ENTRY.matcher(name).matches() && Files.isDirectory(file)) {
          entries.add(new Entry(file, Files.getLastModifiedTime(file).toInstant(), bytesOf(file)));
        } else if (name.startsWith(INCOMING) && isOlder(Files.getLastModifiedTime(file).toInstant(), INCOMING_AGE)) {
          Files.deleteIfExists(file);
        }
      }
    }
    entries.sort(Comparator.comparing(Entry::used));
    long total = entries.stream().mapToLong(Entry::bytes).sum();
    for (Entry entry : entries) {
      if ((total > budgetBytes || isOlder(entry.used(), ENTRY_AGE)) && remove(entry.folder())) {
        total -= entry.bytes();
      }
    }
  }

  private boolean isOlder(Instant time, Duration age) {
    return time.plus(age).isBefore(now);
  }

  private static long bytesOf(Path folder) throws IOException {
    long bytes = 0;
    try (Stream<Path> files = Files.list(folder)) {
      for (Path file : (Iterable<Path>) files::iterator) {
        bytes += Files.size(file);
      }
    }
    return bytes;
  }

  /** False if somebody uses it. */
  private static boolean remove(Path folder) throws IOException {
    try (ProcessLock unused = ProcessLock.tryAcquire(beside(folder, USE), ProcessLock.Mode.EXCLUSIVE)) {
      if (unused == null) {
        return false;
      }
      try (Stream<Path> files = Files.list(folder)) {
        for (Path file : (Iterable<Path>) files::iterator) {
          Files.delete(file);
        }
      }
      Files.delete(folder);
      Files.deleteIfExists(beside(folder, LOCK));
      Files.deleteIfExists(beside(folder, USE));
      return true;
    }
  }

  static Path beside(Path folder, String suffix) {
    return folder.resolveSibling(folder.getFileName() + suffix);
  }
}
