// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HostCacheTest {
  private static final byte[] CONTENT = "content".getBytes(StandardCharsets.UTF_8);
  private static final String NAME = "entry-0123456789abcdef";
  private static final Map<String, String> FILES = Map.of("file", HostCache.sha256(CONTENT));

  @TempDir Path directory;

  private HostCache newCache(long budget) throws IOException {
    return new HostCache(directory.resolve("cache"), budget);
  }

  @Test
  void knowsTheHashOfBytes() {
    assertEquals("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        HostCache.sha256("abc".getBytes(StandardCharsets.UTF_8)));
  }

  @Test
  void writesOnceHoweverManyAskAtOnce() throws Exception {
    HostCache cache = newCache(Long.MAX_VALUE);
    AtomicInteger writes = new AtomicInteger();
    ExecutorService threads = Executors.newFixedThreadPool(8);
    try {
      List<Future<CachedFolder>> folders = new ArrayList<>();
      for (int i = 0; i < 8; ++i) {
        folders.add(
            threads.submit(
                () ->
                    cache.use(NAME, FILES, (name, target) -> {
                      writes.incrementAndGet();
                      return HostCache.write(target, stream -> stream.write(CONTENT));
                    })));
      }
      for (Future<CachedFolder> folder : folders) {
        assertEquals("content", Files.readString(folder.get().path().resolve("file")));
      }
    } finally {
      threads.shutdownNow();
    }
    assertEquals(1, writes.get());
  }

  @Test
  void replacesADamagedFile() throws IOException {
    HostCache cache = newCache(Long.MAX_VALUE);
    Path file = cache.use(NAME, FILES, (name, target) -> HostCache.write(target, stream -> stream.write(CONTENT))).path().resolve("file");
    Files.writeString(file, "damaged");
    cache.use(NAME, FILES, (name, target) -> HostCache.write(target, stream -> stream.write(CONTENT)));
    assertEquals("content", Files.readString(file));
  }

  @Test
  void leavesNothingOfAWriterThatFails() throws IOException {
    HostCache cache = newCache(Long.MAX_VALUE);
    IOException failure =
        assertThrows(
            IOException.class,
            () -> cache.use(NAME, FILES, (name, target) -> HostCache.write(target, stream -> stream.write(1))));
    assertTrue(failure.getMessage().contains("SHA-256"), failure.getMessage());
    try (Stream<Path> files = Files.list(cache.root().resolve(NAME))) {
      assertEquals(0, files.count());
    }
  }

  @Test
  void refusesAFolderThatEverybodyCanWrite() throws IOException {
    Path open = Files.createDirectory(directory.resolve("open"));
    Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rwxrwxrwx"));
    IOException failure = assertThrows(IOException.class, () -> new HostCache(open, Long.MAX_VALUE));
    assertTrue(failure.getMessage().contains("thalweg.cache"), failure.getMessage());
  }
}
